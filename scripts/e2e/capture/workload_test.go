package capture

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// laboratories of the workload. With five shards, 7 and 8 share one, where an operation with one routing can hit a
// document of the other.
var laboratories = []int64{7, 8, 12, 13, 20}

const (
	writers       = 4
	patientsEach  = 250 // ids that one writer reuses
	maxPerCommit  = 12
	commitTimeout = 20 * time.Second
	meanPause     = int(40 * time.Millisecond) // of a writer, so that the consumer keeps up if nothing fails
)

// workload writes random changes to the source tables. All values depend on the seed, but the order of the commits does
// not; the comparison reads the final state.
type workload struct {
	db    *sql.DB
	seed  uint64
	flips bool // only move patients back and forth
	done  atomic.Int64
	alter atomic.Int64
}

// run executes operations until more returns false. It continues through outages of the database.
func (w *workload) run(t *testing.T, more func(done int64) bool) {
	t.Helper()
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			one := &writer{w: w, rng: rand.New(rand.NewPCG(w.seed, uint64(n))), first: int64(n*patientsEach) + 1}
			for more(w.done.Load()) {
				one.commit(t)
				rest(time.Duration(one.rng.IntN(2 * meanPause)))
			}
		})
	}
	all.Wait()
	t.Logf("%d operations with seed %d", w.done.Load(), w.seed)
}

type writer struct {
	w     *workload
	rng   *rand.Rand
	first int64
}

// commit executes up to maxPerCommit operations in one transaction and repeats it until it commits. Repeating is safe
// when the response to a commit is lost, because operations set a state and do not depend on the previous one.
func (o *writer) commit(t *testing.T) {
	t.Helper()
	var statements []statement
	for range 1 + o.rng.IntN(maxPerCommit) {
		statements = append(statements, o.operation()...)
	}
	for {
		err := o.try(statements)
		switch {
		case err == nil:
			o.w.done.Add(int64(len(statements)))
			return
		case passes(err):
			rest(100 * time.Millisecond)
		default:
			t.Errorf("workload: %v", err)
			return
		}
	}
}

// passes reports whether err is a temporary failure of the engine, not an error of the test.
func passes(err error) bool {
	switch number(err) {
	case 0: // a broken connection
		return true
	case 1205, 1213, 1020, 1053, 1412, 1290:
		return true
	}
	return false
}

func (o *writer) try(statements []statement) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	tx, err := o.w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s.text, s.args...); err != nil {
			return fmt.Errorf("%s: %w", s.text, err)
		}
	}
	return tx.Commit()
}

type statement struct {
	text string
	args []any
}

func say(text string, args ...any) []statement { return []statement{{text, args}} }

// operation returns random statements. Ids of bills and reports are derived from the patient's, so that writers never
// share a row.
func (o *writer) operation() []statement {
	user := o.first + o.rng.Int64N(patientsEach)
	bill := user*10 + o.rng.Int64N(4)
	report := user*10 + o.rng.Int64N(6)
	if o.w.flips {
		return o.flip(user)
	}
	switch draw := o.rng.IntN(100); {
	case draw < 14:
		return o.insertPatient(user)
	case draw < 34:
		return say("UPDATE userDetails SET fullName=?, contact=?, email=? WHERE id=?", o.name(), o.phone(), o.word()+"@example.org", user)
	case draw < 46:
		return o.flip(user)
	case draw < 50:
		return say("UPDATE userDetails SET isDeleted=? WHERE id=?", o.rng.IntN(2), user)
	case draw < 55:
		return say("DELETE FROM userDetails WHERE id=?", user)
	case draw < 56: // changes the patient's primary key; the next insert restores it
		return append(say("DELETE FROM userDetails WHERE id=?", user+spare),
			statement{"UPDATE userDetails SET id=? WHERE id=?", []any{user + spare, user}})
	case draw < 68:
		return o.insertBill(bill, user)
	case draw < 76:
		return say("UPDATE billing SET orderNumber=?, orgId_id=?, billTime=? WHERE id=?", o.order(), o.maybe(), o.moment(), bill)
	case draw < 79:
		return say("UPDATE billing SET userDetailsId_id=? WHERE id=?", o.first+o.rng.Int64N(patientsEach), bill)
	case draw < 81:
		return say("DELETE FROM billing WHERE id=?", bill)
	case draw < 90:
		return o.insertReport(report, bill, user)
	case draw < 97:
		return say("UPDATE labReportRelation SET sampleId=?, sampleRedrawFlag=?, dismissed=? WHERE id=?", o.sample(), 3*o.rng.IntN(2), o.rng.IntN(2), report)
	default:
		return say("DELETE FROM labReportRelation WHERE id=?", report)
	}
}

// flip moves a patient to another laboratory, with or without the patient's bills and reports.
func (o *writer) flip(user int64) []statement {
	lab := laboratories[o.rng.IntN(len(laboratories))]
	if o.w.flips {
		lab = laboratories[o.rng.IntN(2)]
	}
	moves := say("UPDATE userDetails SET labId_id=? WHERE id=?", lab, user)
	if o.w.flips {
		moves = append(o.insertPatient(user), moves...)
	}
	if o.rng.IntN(2) == 0 {
		moves = append(moves, statement{"UPDATE billing SET labId_id=? WHERE userDetailsId_id=?", []any{lab, user}},
			statement{"UPDATE labReportRelation SET labId_id=? WHERE userDetailsId_id=?", []any{lab, user}})
	}
	return moves
}

func (o *writer) insertPatient(user int64) []statement {
	lab := laboratories[o.rng.IntN(len(laboratories))]
	if o.w.flips {
		lab = laboratories[o.rng.IntN(2)]
	}
	return say("INSERT INTO userDetails (id, labId_id, branchId, orgId_id, labPatientId, fullName, firstName, lastName, contact, email, gender, dateOfBirth, age)"+
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON DUPLICATE KEY UPDATE fullName=VALUES(fullName), dateOfBirth=VALUES(dateOfBirth)",
		user, lab, o.maybe(), o.maybe(), fmt.Sprintf("P-%06d", user), o.name(), o.word(), o.word(), o.phone(), o.word()+"@example.org",
		[]string{"Male", "Female", ""}[o.rng.IntN(3)], o.date(), fmt.Sprintf("%d Y", o.rng.IntN(90)))
}

func (o *writer) insertBill(bill, user int64) []statement {
	return say("INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, orgId_id, branchId, billTotalAmount, billTime)"+
		" SELECT ?, COALESCE(MAX(labId_id), 12), ?, ?, ?, ?, ?, '1125.50', ? FROM userDetails WHERE id=?"+
		" ON DUPLICATE KEY UPDATE orderNumber=VALUES(orderNumber)", bill, bill, o.order(), user, o.maybe(), o.maybe(), o.moment(), user)
}

func (o *writer) insertReport(report, bill, user int64) []statement {
	return say("INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId, manualSampleId, lrfId)"+
		" SELECT ?, COALESCE(MAX(labId_id), 12), ?, ?, 55, ?, ?, ? FROM userDetails WHERE id=?"+
		" ON DUPLICATE KEY UPDATE sampleId=VALUES(sampleId)", report, bill, user, o.sample(), o.sample(), fmt.Sprintf("L%d", report), user)
}

// spare is added to a patient's key when the key changes.
const spare = 1_000_000

var (
	syllables = []string{"ra", "hul", "shar", "ma", "an", "ita", "Çe", "lik", "müller", "佳", "😀", "o'", "d%", "_x", "bai"}
	null      any
)

func (o *writer) word() string {
	var b strings.Builder
	for range 1 + o.rng.IntN(3) {
		b.WriteString(syllables[o.rng.IntN(len(syllables))])
	}
	return b.String()
}

func (o *writer) name() string { return o.word() + " " + o.word() }
func (o *writer) phone() string {
	return fmt.Sprintf("+91 %05d %05d", o.rng.IntN(100000), o.rng.IntN(100000))
}
func (o *writer) order() string { return fmt.Sprintf("ORD-%d~%d", o.rng.IntN(10000), o.rng.IntN(3)) }
func (o *writer) sample() string {
	return []string{"", fmt.Sprintf("s-%d/%d", o.rng.IntN(10000), o.rng.IntN(9))}[o.rng.IntN(2)]
}

func (o *writer) maybe() any {
	if o.rng.IntN(3) == 0 {
		return null
	}
	return 40 + o.rng.IntN(5)
}

func (o *writer) date() any {
	if o.rng.IntN(4) == 0 {
		return null
	}
	return fmt.Sprintf("%04d-%02d-%02d", 1920+o.rng.IntN(100), 1+o.rng.IntN(12), 1+o.rng.IntN(28))
}

func (o *writer) moment() string {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(o.rng.Int64N(int64(300 * 24 * time.Hour)))).Format("2006-01-02 15:04:05.000000")
}

// alterTable changes the structure of a captured table while changes are captured.
func (w *workload) alterTable(t *testing.T) {
	t.Helper()
	if _, err := w.db.Exec(fmt.Sprintf("ALTER TABLE userDetails ADD COLUMN note%d VARCHAR(20) NULL", w.alter.Add(1))); err != nil && !passes(err) {
		t.Errorf("alter table: %v", err)
	}
}
