package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
)

// Family finds the root of the family, then all bills below it, with one statement per generation.
func (s *Store) Family(ctx context.Context, lab authn.LabScope, billID int64) ([]family.Member, error) {
	var members []family.Member
	err := s.snapshot(ctx, lab, func(t *transaction) error {
		root, err := t.root(ctx, billID)
		if err != nil {
			return err
		}
		origins, err := t.descendants(ctx, root)
		if err != nil {
			return err
		}
		members, err = t.members(ctx, root, origins)
		return err
	})
	return members, err
}

func (t *transaction) root(ctx context.Context, billID int64) (int64, error) {
	for {
		r, err := t.split(ctx, billID)
		if err != nil || r == nil {
			return billID, err
		}
		billID = r.ParentID
	}
}

func (t *transaction) descendants(ctx context.Context, root int64) (map[int64]family.Record, error) {
	found := map[int64]family.Record{}
	for generation := []int64{root}; len(generation) > 0; {
		children, err := t.children(ctx, generation)
		if err != nil {
			return nil, err
		}
		generation = nil
		for _, r := range children {
			found[r.NewID] = r
			generation = append(generation, r.NewID)
		}
	}
	return found, nil
}

func (t *transaction) children(ctx context.Context, parents []int64) ([]family.Record, error) {
	marks, args := mysqldb.In(parents, t.lab.LabID())
	query := records + " AND a.parent_bill_id IN (" + marks + ") ORDER BY a.new_bill_id"
	list, err := mysqldb.Collect(ctx, t.tx, query, args, scanRecord)
	return list, mysqldb.Wrap("read splits", err)
}

// members reads bills with their tests, ordered by id.
func (t *transaction) members(
	ctx context.Context, root int64, origins map[int64]family.Record,
) ([]family.Member, error) {
	ids := []int64{root}
	for id := range origins {
		ids = append(ids, id)
	}
	tests, err := t.tests(ctx, ids)
	if err != nil {
		return nil, err
	}
	marks, args := mysqldb.In(ids, t.lab.LabID())
	query := "SELECT id, " + headColumns + " FROM billing WHERE labId_id = ? AND id IN (" + marks + ") ORDER BY id"
	members, err := mysqldb.Collect(ctx, t.tx, query, args, func(row mysqldb.Row, m *family.Member) error {
		err := scanBill(row, &m.Bill)
		m.Tests = tests[m.Bill.ID]
		if r, ok := origins[m.Bill.ID]; ok {
			m.Origin = &r
		}
		return err
	})
	return members, mysqldb.Wrap("read family", err)
}

func (t *transaction) tests(ctx context.Context, bills []int64) (map[int64][]family.Test, error) {
	marks, args := mysqldb.In(bills, t.lab.LabID())
	query := "SELECT i.billId_id, COALESCE(n.testName, ''), i." + strings.ReplaceAll(rowColumns, ", ", ", i.") +
		" FROM billingInfo i JOIN billing b ON b.id = i.billId_id AND b.labId_id = ?" +
		" LEFT JOIN AllTests n ON n.id = i.testId_id AND COALESCE(n.labId_id, b.labId_id) = b.labId_id" +
		" WHERE i.billId_id IN (" + marks + ") ORDER BY i.id"
	tests := map[int64][]family.Test{}
	err := mysqldb.Each(ctx, t.tx, query, args, func(rows *sql.Rows) error {
		var billID int64
		var one family.Test
		err := scanRow(rows, &one.Row, &billID, &one.Name)
		tests[billID] = append(tests[billID], one)
		return err
	})
	return tests, mysqldb.Wrap("read tests", err)
}
