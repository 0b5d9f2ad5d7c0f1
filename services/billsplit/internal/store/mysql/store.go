// Package mysql stores the data of bill splitting in lab_bill_counter, bill_split_audit, bill_split_merge and
// idempotency_billsplit. Of the platform's tables, it writes billing, billingInfo.billId_id,
// labReportRelation.billId_id, bill_attachment.is_active and ActivityLog, and reads labs, reportValues, AllTests,
// organization, userDetails and the guarded tables.
//
// Every transaction that changes a bill locks the bill's row first (SELECT … FOR UPDATE), then its tests, and last the
// laboratory's counter. Of two bills, it locks the older one first. The number of statements does not depend on the
// number of tests.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

const idempotencyTable = "idempotency_billsplit"

// Store reads and writes the relational database. Its methods may be called from several goroutines.
type Store struct {
	db     *sql.DB
	clock  clock.Clock
	keys   idempotency.Table
	guards Guards
}

var (
	_ split.Store   = (*Store)(nil)
	_ family.Store  = (*Store)(nil)
	_ family.Reader = (*Store)(nil)
)

// New returns a store over db, which the caller closes.
func New(db *sql.DB, c clock.Clock, g Guards) (*Store, error) {
	keys, err := idempotency.NewTable(idempotencyTable)
	if err != nil {
		return nil, err
	}
	return &Store{db, c, keys, g}, nil
}

// LegacyColumns returns the columns of the platform's tables that the service uses.
func LegacyColumns(g Guards) map[string][]string {
	columns := map[string][]string{
		"billing":      billColumns(),
		"organization": {"id", "labId_id", "orgFullName"},
		"userDetails":  worklist.PatientTable(),
		"billingInfo":  strings.Split("billId_id, testId_id, "+rowColumns, ", "),
		"AllTests":     {"id", "labId_id", "testName"},
		"labReportRelation": {"id", "labId_id", "billId_id", "billingInfoId_id", "userDetailsId_id", "isSigned", "dismissed",
			"updatedOn"},
		"reportValues":    {"id", "labReportId_id", "value", "updated_at"},
		"bill_attachment": {"id", "bill_id", "category", "is_active"},
		"labs":            {"id", "enable_bill_split", "timezone"},
	}
	maps.Copy(columns, g.columns())
	maps.Copy(columns, activitylog.Columns())
	return columns
}

func billColumns() []string {
	columns := slices.Concat([]string{"id"}, sight.Columns(), strings.Split(headColumns, ", "))
	slices.Sort(columns)
	return slices.Compact(columns)
}

// snapshot calls read in a transaction that sees one snapshot of the laboratory's bills.
func (s *Store) snapshot(ctx context.Context, lab authn.LabScope, read func(*transaction) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return mysqldb.Wrap("begin", err)
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to commit
	return read(&transaction{tx: tx, lab: lab, guards: s.guards})
}

// numberTries is the maximum number of attempts if another program takes the same bill number at the same time.
const numberTries = 5

// once calls work in a transaction and stores its response under the key of the request. If the key has a response
// already, it returns that one without calling work.
func (s *Store) once(
	ctx context.Context, lab authn.LabScope, request idempotency.Request, work func(*transaction) ([]byte, error),
) (body []byte, replayed bool, err error) {
	for range numberTries {
		err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
			t := &transaction{tx: tx, lab: lab, guards: s.guards, locks: true}
			answer, before, err := s.keys.Once(ctx, tx, lab, s.clock.Now(), request, func() (idempotency.Response, error) {
				body, err := work(t)
				return idempotency.Response{Body: body}, err
			})
			body, replayed = answer.Body, before
			return err
		})
		if !errors.Is(err, errNumberTaken) {
			return body, replayed, mysqldb.Wrap("change bill", err)
		}
	}
	return nil, false, errNumbersTaken.WithCause(err)
}

// Sweep deletes idempotency keys that expired.
func (s *Store) Sweep(ctx context.Context) error {
	_, err := s.keys.Sweep(ctx, s.db, s.clock.Now())
	return err
}

// transaction is one transaction within a laboratory.
type transaction struct {
	tx     *sql.Tx
	lab    authn.LabScope
	guards Guards
	locks  bool // its reads lock the rows
}

// lock returns the end of SELECT statements: " FOR UPDATE" if the transaction locks, otherwise "".
func (t *transaction) lock() string {
	if t.locks {
		return " FOR UPDATE"
	}
	return ""
}

// errNumberTaken means that another program has used the bill number in the meantime.
var errNumberTaken = errors.New("bill number is taken")

// errNumbersTaken is returned to callers after numberTries. Nothing was written, and a later attempt will succeed.
var errNumbersTaken = apperr.New(apperr.Unavailable, "BILL_NUMBERS_TAKEN",
	"Other programs took the next bill numbers at the same moment; nothing was changed, try again")

func numberTaken(err error) bool {
	var refused *driver.MySQLError
	return mysqldb.IsDuplicate(err) && errors.As(err, &refused) &&
		strings.Contains(refused.Message, "uq_billing_lab_billno")
}

// LegacyIndexes returns the indexes on the platform's tables that the service needs.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "billing", Columns: []string{"labId_id", "labBillId"}, For: "the next bill number"},
		{Table: "billing", Columns: []string{"labId_id", "orderNumber"}, For: "the next order number"},
		{Table: "billing", Columns: []string{"labId_id", "billTime"}, For: "the bills of a day"},
		{Table: "billingInfo", Columns: []string{"billId_id"}, For: "the tests of a bill"},
		{Table: "labReportRelation", Columns: []string{"billingInfoId_id"}, For: "a split"},
	}
}
