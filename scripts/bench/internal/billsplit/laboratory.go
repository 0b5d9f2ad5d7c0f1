package billsplit

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// Ids of the seeded laboratories and bills, outside the range of the demo's.
const (
	firstLab  = 900
	firstBill = 20_000_000
	rowsOfID  = 100 // the billed tests of bill n have the ids from n*100 on
)

// laboratories holds laboratories with bills of 40 tests to split.
type laboratories struct {
	*testlab.Lab
	bills int // number of bills of a round
	next  int // the first bill of the next round
	split int // number of bills that were split
}

func newLaboratories(ctx context.Context, s *sandbox.Sandbox, bills int) (*laboratories, error) {
	lab, err := testlab.Open(s.Dir, s.Endpoints.Gateway)
	if err != nil {
		return nil, err
	}
	var sessions []any
	for id := firstLab; id < firstLab+labs; id++ {
		sessions = append(sessions, testlab.User(session(id), id))
	}
	l := &laboratories{Lab: lab, bills: bills, next: firstBill}
	return l, l.Apply(ctx, map[string]any{"sessions": sessions})
}

func session(lab int) string { return fmt.Sprint("bench-", lab) }

// open inserts the bills of a round, distributed over labCount laboratories, and returns the id of the first one.
func (l *laboratories) open(ctx context.Context, labCount int) (first int, err error) {
	first = l.next
	l.next += l.bills
	var bills, rows, reports []any
	for id := first; id < first+l.bills; id++ {
		lab := labOf(id, labCount)
		bills = append(bills, map[string]any{
			"id": id, "labId_id": lab, "labBillId": id, "orderNumber": fmt.Sprint("B-", id), "userDetailsId_id": lab,
			"source": "Insurance", "vat": "360.03", "vat_percent": "18", "TDSAmount": "20.02", "billAdditionalAmount": "33.33",
			"billConcession":  "40.00",
			"billTotalAmount": "4373.34", "co_pay_amount": "40.00", "patientPayableAmount": "40.00",
		})
		for n := range tests {
			row := id*rowsOfID + n
			rows = append(rows, map[string]any{"id": row, "billId_id": id, "labId_id": lab, "testId_id": 1,
				"testAmount": "101.00", "testConsc": "1.00", "co_pay_amount": "1.00"})
			reports = append(reports, map[string]any{"id": row, "labId_id": lab, "billId_id": id, "billingInfoId_id": row,
				"userDetailsId_id": lab, "reportID_id": 1})
		}
	}
	return first, l.Apply(ctx, map[string]any{"mysql": map[string]any{"billing": bills, "billingInfo": rows,
		"labReportRelation": reports}})
}

func labOf(id, labCount int) int { return firstLab + id%labCount }

// settle is the correctness gate: every bill of the round is split once, and no paisa is lost.
func (l *laboratories) settle(ctx context.Context, first int) error {
	last := first + l.bills - 1
	for what, c := range map[string]struct {
		query string
		want  int
	}{
		"splits": {"SELECT COUNT(*) FROM bill_split_audit WHERE parent_bill_id BETWEEN ? AND ?", l.bills},
		"paise": {"SELECT CAST(SUM(b.billTotalAmount * 100) AS SIGNED) FROM billing b WHERE b.id BETWEEN ? AND ?" +
			fmt.Sprintf(" OR b.id IN (SELECT new_bill_id FROM bill_split_audit WHERE parent_bill_id BETWEEN %d AND %d)",
				first, last), 437_334 * l.bills},
		"moved tests": {"SELECT COUNT(*) FROM bill_split_audit a JOIN billingInfo i ON i.billId_id = a.new_bill_id" +
			" WHERE a.parent_bill_id BETWEEN ? AND ?", tests / 2 * l.bills},
		"moved reports": {"SELECT COUNT(*) FROM bill_split_audit a JOIN labReportRelation r ON r.billId_id = a.new_bill_id" +
			" AND r.labId_id = a.lab_id" +
			" WHERE a.parent_bill_id BETWEEN ? AND ?", tests / 2 * l.bills},
	} {
		var got int
		if err := l.DB.QueryRowContext(ctx, c.query, first, last).Scan(&got); err != nil {
			return err
		}
		if got != c.want {
			return fmt.Errorf("%d %s, want %d", got, what, c.want)
		}
	}
	l.split += l.bills
	return nil
}

// send moves half of a bill's tests to a new bill.
func (l *laboratories) send(ctx context.Context, id, labCount int) error {
	var ids []string
	for n := range tests / 2 {
		ids = append(ids, fmt.Sprint(id*rowsOfID+n))
	}
	_, err := l.Call(ctx, testlab.Request{
		Session: session(labOf(id, labCount)), Method: http.MethodPost, Path: fmt.Sprint("/api-v3/finance/bill/split/", id),
		Body: `{"test_ids":[` + strings.Join(ids, ",") + `]}`, IdempotencyKey: fmt.Sprint("bench-", id),
	})
	return err
}
