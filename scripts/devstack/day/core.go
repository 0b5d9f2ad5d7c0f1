package day

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The demo's laboratory that is simulated, and the branch of its staff.
const (
	Laboratory = 12
	Branch     = 3
)

// Other ids of the demo's fixture.
const (
	labUser   = "demo-lab-user"
	hospital  = 45
	referring = 302
)

// row is a row of one of the core's tables, by column.
type row map[string]any

func (p *play) insert(ctx context.Context, table string, r row) (int64, error) {
	columns := slices.Sorted(maps.Keys(r))
	args := make([]any, len(columns))
	for i, c := range columns {
		args[i] = r[c]
	}
	statement := fmt.Sprintf("INSERT INTO `%s` (`%s`) VALUES (?%s)",
		table, strings.Join(columns, "`,`"), strings.Repeat(",?", len(columns)-1))
	result, err := p.core.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("the core writes %s: %w", table, err)
	}
	return result.LastInsertId()
}

// visit is a registered patient with the first test's report.
type visit struct {
	patient
	user, bill, report, second int64
	sample                     string
}

// arrives registers a patient with a bill of two tests; the sample is measured later.
func (p *play) arrives(who patient) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		now := time.Now().UTC()
		v := visit{patient: who}
		if v.user, err = p.insert(ctx, "userDetails", registration(who, now)); err != nil {
			return err
		}
		if v.bill, err = p.billOf(ctx, v); err != nil {
			return err
		}
		if v.report, v.sample, err = p.reportOf(ctx, v, who.kind.test, "420.00", now); err != nil {
			return err
		}
		if v.second, _, err = p.reportOf(ctx, v, glucose, "140.00", now); err != nil {
			return err
		}
		p.count(func(t *Tally) { t.Patients++ })
		p.done(Deed{What: Registered, User: v.user, Bill: v.bill, Report: v.report, Text: who.contact})
		p.in(who.wait, func(ctx context.Context) error { return p.measured(ctx, v, who.value, true) })
		if who.source == "Insurance" && who.splits {
			p.in(who.wait/2, func(ctx context.Context) error { return p.splitBill(ctx, v) })
		}
		return nil
	}
}

func registration(who patient, now time.Time) row {
	return row{
		"labId_id": Laboratory, "branchId": Branch, "orgId_id": hospital,
		"labPatientId": fmt.Sprintf("DAY-%d", now.UnixMilli()%100_000_000),
		"designation":  who.title, "firstName": who.given, "lastName": who.family, "fullName": who.given + " " + who.family,
		"contact": who.contact, "countryCode": "91", "gender": who.gender,
		"dateOfBirth": who.born.Format(time.DateOnly), "age": fmt.Sprintf("%d Y", now.Year()-who.born.Year()),
	}
}

const nextBill = "SELECT MAX(labBillId) + 1 FROM billing WHERE labId_id = ?"

// attempts is how often another bill number is drawn when the first one is in use.
const attempts = 5

func (p *play) billOf(ctx context.Context, v visit) (bill int64, err error) {
	p.numbers.Lock()
	defer p.numbers.Unlock()
	for range attempts {
		var number int64
		if err := p.core.QueryRowContext(ctx, nextBill, Laboratory).Scan(&number); err != nil {
			return 0, fmt.Errorf("the core numbers a bill: %w", err)
		}
		bill, err = p.insert(ctx, "billing", row{
			"labId_id": Laboratory, "branchId": Branch, "orgId_id": hospital, "docId_id": referring,
			"labBillId": number, "orderNumber": fmt.Sprintf("ORD-%d", number), "userDetailsId_id": v.user,
			"source": v.source, "billTotalAmount": "560.00", "patientPayableAmount": "0.00", "billTime": time.Now().UTC(),
		})
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != duplicate {
			return bill, err
		}
	}
	return 0, err
}

const duplicate = 1062 // MySQL's error number of a duplicate key

func (p *play) reportOf(
	ctx context.Context, v visit, test int, amount string, at time.Time,
) (id int64, sample string, err error) {
	billed, err := p.insert(ctx, "billingInfo",
		row{"billId_id": v.bill, "labId_id": Laboratory, "testId_id": test, "testAmount": amount})
	if err != nil {
		return 0, "", err
	}
	sample = fmt.Sprintf("D%d-%d", v.bill, test)
	id, err = p.insert(ctx, "labReportRelation", row{
		"labId_id": Laboratory, "orgId_id": hospital, "docForId_id": referring,
		"billId_id": v.bill, "billingInfoId_id": billed, "userDetailsId_id": v.user, "reportID_id": test,
		"sampleId": sample, "sampleCollected": 1, "sampleCollectionTime": at,
	})
	return id, sample, err
}

const enterValue = "REPLACE INTO reportValues (labReportId_id, reportForId_id, `index`, `order`, parameter_name, value," +
	" automatedValue) VALUES (?, ?, ?, ?, ?, ?, 1)"

// enters stores the value of a report, as the core does once a value is accepted, and requests an evaluation of the
// bill.
func (p *play) enters(ctx context.Context, v visit, value string) error {
	k := v.kind
	_, err := p.core.ExecContext(ctx, enterValue, v.report, v.report, k.index, k.index, k.parameter, value)
	if err != nil {
		return fmt.Errorf("the core enters a value: %w", err)
	}
	if v.critical {
		p.done(Deed{What: Critical, User: v.user, Bill: v.bill, Report: v.report, Text: value})
	}
	return p.judge(ctx, v.bill)
}
