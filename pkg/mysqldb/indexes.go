package mysqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Index is one that a service needs on a table that it does not own: any index whose first columns are these serves.
type Index struct {
	Table   string
	Columns []string
	For     string // what reads the whole table without it
}

// statement makes the index. Its name tells the owner of the table why it is there.
func (i Index) statement() string {
	return fmt.Sprintf("CREATE INDEX `ix_%s` ON `%s` (`%s`)", strings.Join(i.Columns, "_"), i.Table, strings.Join(i.Columns, "`, `"))
}

// MissingIndexes returns, for each index that no other serves, a sentence with the statement that makes it. Nothing is
// altered: the table has another owner, and a service continues without it, slowly.
func MissingIndexes(ctx context.Context, db *sql.DB, wanted []Index) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS"+
		" WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX")
	if err != nil {
		return nil, fmt.Errorf("read indexes: %w", err)
	}
	defer rows.Close()
	present := map[[2]string][]string{} // columns by table and name
	for rows.Next() {
		var key [2]string
		var column sql.NullString // of an expression there is none
		if err := rows.Scan(&key[0], &key[1], &column); err != nil {
			return nil, fmt.Errorf("read indexes: %w", err)
		}
		present[key] = append(present[key], column.String)
	}
	var missing []string
	for _, want := range wanted {
		served := false
		for key, columns := range present {
			served = served || key[0] == want.Table && len(columns) >= len(want.Columns) &&
				slices.Equal(columns[:len(want.Columns)], want.Columns)
		}
		if !served {
			missing = append(missing, want.For+" reads all of "+want.Table+" without this index: "+want.statement())
		}
	}
	return missing, rows.Err()
}
