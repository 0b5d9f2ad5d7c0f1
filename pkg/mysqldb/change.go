package mysqldb

import (
	"context"
	"database/sql"
)

// Change makes a decision in one transaction and returns it. load reads the facts and takes all locks, decide is pure,
// and apply writes the decision. An error of any of them rolls back. When InTx retries, all three run again.
func Change[Facts, Decision any](
	ctx context.Context, db *sql.DB, load func(*sql.Tx) (Facts, error), decide func(Facts) (Decision, error),
	apply func(*sql.Tx, Decision) error,
) (Decision, error) {
	var decision, none Decision
	err := InTx(ctx, db, func(tx *sql.Tx) error {
		facts, err := load(tx)
		if err != nil {
			return err
		}
		if decision, err = decide(facts); err != nil {
			return err
		}
		return apply(tx, decision)
	})
	if err != nil {
		return none, err
	}
	return decision, nil
}
