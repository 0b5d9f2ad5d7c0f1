package mysql

import (
	"context"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

const cellsStatement = "SELECT id, name, bg_color_hex, fg_color_hex, default_key, is_disable," +
	" is_nucleated_red, created_at, updated_at FROM cells ORDER BY id"

// Cells returns all cells by id.
func (s *Store) Cells(ctx context.Context) ([]mapping.Cell, error) { return readCells(ctx, s.db) }

func readCells(ctx context.Context, q mysqldb.RowsQuerier) ([]mapping.Cell, error) {
	cells, err := mysqldb.Collect(ctx, q, cellsStatement, nil, func(row mysqldb.Row, c *mapping.Cell) error {
		return row.Scan(&c.ID, &c.Name, &c.Background, &c.Foreground, &c.DefaultKey, &c.Disabled, &c.NucleatedRed,
			&c.CreatedAt, &c.UpdatedAt)
	})
	return cells, mysqldb.Wrap("read cells", err)
}
