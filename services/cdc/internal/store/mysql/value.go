package mysql

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// inColumn finds the column in the server's sentence, which may quote the value before it.
var inColumn = regexp.MustCompile(
	"(?:[Cc]olumn|CONSTRAINT) (?:`[^`]*`\\.`[^`]*`\\.)?[`'](?:user_meta\\.)?([a-z_]+)[`']")

// withoutValue rewrites the server's error about a value so that a log or a header may hold it.
func withoutValue(e *mysql.MySQLError) error {
	for _, m := range inColumn.FindAllStringSubmatch(e.Message, -1) {
		if slices.ContainsFunc(columns(), func(c column) bool { return c.name == m[1] }) {
			return fmt.Errorf("database error %d: column %s refuses its value", e.Number, m[1])
		}
	}
	return fmt.Errorf("database error %d: a column refuses its value", e.Number)
}
