package mysqltest

import (
	"fmt"
	"strings"
)

// Numbers returns a derived table named numbers with the column seq from 1 to most, for statements that insert many
// rows. MySQL and MariaDB have different syntax for sequences; this is plain SQL with a table of digits for each
// decimal place.
func Numbers(most int) string {
	const digits = "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4" +
		" UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	var sum, tables []string
	for place, reach := 0, 1; reach < most || place == 0; place, reach = place+1, reach*10 {
		sum = append(sum, fmt.Sprintf("d%d.n * %d", place, reach))
		tables = append(tables, fmt.Sprintf("%s d%d", digits, place))
	}
	return fmt.Sprintf("(SELECT seq FROM (SELECT %s + 1 AS seq FROM %s) every_number WHERE seq <= %d) numbers",
		strings.Join(sum, " + "), strings.Join(tables, " CROSS JOIN "), most)
}
