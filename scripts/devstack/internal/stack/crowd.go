package stack

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/devstack/volume"
)

// crowd returns the configuration of 10,000 generated patients of the demo laboratory, so that searches find something.
func crowd() volume.Config {
	return volume.Config{Users: 10_000, Labs: 1, SeedNumber: 1, Into: &volume.Laboratory{
		ID: day.Laboratory, Branch: day.Branch, Tests: []int{55, 64, 65, 66, 67, 68}, FirstBill: 1000}}
}

// loadCrowd writes the generated patients at the first start with LAB_DEMO on. Change capture handles them like any
// other change.
func (r *running) loadCrowd(ctx context.Context) error {
	config, err := mysql.ParseDSN(r.target)
	if err != nil {
		return fmt.Errorf("patients of the demo: %w", err)
	}
	return execute(ctx, config, func(db *sql.DB) error {
		_, err := r.once(ctx, db, "crowd", func() error { return volume.Load(ctx, db, crowd(), r.Out, r.Now) })
		return err
	})
}
