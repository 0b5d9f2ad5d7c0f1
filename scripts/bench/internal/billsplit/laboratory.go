package billsplit

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

// Ids of the seeded laboratories and bills, far from those of the demo.
const (
	firstLab  = 900
	firstBill = 20_000_000
	rowsOfID  = 100 // billed tests of bill n are n*100 and up
)

// laboratories have bills of 40 tests that wait to be split.
type laboratories struct {
	base   string
	target seed.Target
	db     *sql.DB
	client *http.Client
	bills  int // of a round
	next   int // the first bill of the next round
	split  int // bills that were split
}

func newLaboratories(ctx context.Context, dir string, e endpoints.Endpoints, bills int) (*laboratories, error) {
	target, err := seed.Stack(dir)
	if err != nil {
		return nil, err
	}
	l := &laboratories{base: e.Gateway, target: target, bills: bills, next: firstBill, client: &http.Client{
		Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	if l.db, err = target.OpenMySQL(); err != nil {
		return nil, err
	}
	var sessions []any
	for lab := firstLab; lab < firstLab+labs; lab++ {
		sessions = append(sessions, map[string]any{"id": fmt.Sprint("bench-", lab), "session_type": "lab_user",
			"lab_id": lab, "lab_user_id": 1, "username": "bench"})
	}
	return l, l.apply(ctx, map[string]any{"sessions": sessions})
}

func (l *laboratories) close() { _ = l.db.Close() }

func (l *laboratories) apply(ctx context.Context, fixture map[string]any) error {
	text, err := json.Marshal(fixture)
	if err != nil {
		return err
	}
	parsed, err := seed.Parse(text, "")
	if err != nil {
		return err
	}
	_, err = l.target.Apply(ctx, parsed)
	return err
}

// open makes the bills of a round, dealt out among so many laboratories, and returns the first of them.
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
	return first, l.apply(ctx, map[string]any{"mysql": map[string]any{"billing": bills, "billingInfo": rows,
		"labReportRelation": reports}})
}

func labOf(id, labCount int) int { return firstLab + id%labCount }

// settle is the correctness gate: every bill of the round is split once, and no paisa is gone.
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
		if err := l.db.QueryRowContext(ctx, c.query, first, last).Scan(&got); err != nil {
			return err
		}
		if got != c.want {
			return fmt.Errorf("%d %s, want %d", got, what, c.want)
		}
	}
	l.split += l.bills
	return nil
}

// each calls do for every bill of a round from several goroutines.
func (l *laboratories) each(first, workers int, do func(id int) error) error {
	var group errgroup.Group
	ids := make(chan int, l.bills)
	for id := first; id < first+l.bills; id++ {
		ids <- id
	}
	close(ids)
	for range workers {
		group.Go(func() error {
			for id := range ids {
				if err := do(id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// send moves half of a bill's tests to a new bill.
func (l *laboratories) send(ctx context.Context, id, labCount int) error {
	var ids []string
	for n := range tests / 2 {
		ids = append(ids, fmt.Sprint(id*rowsOfID+n))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprint(l.base, "/api-v3/finance/bill/split/", id),
		strings.NewReader(`{"test_ids":[`+strings.Join(ids, ",")+`]}`))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", fmt.Sprint("sessionid=bench-", labOf(id, labCount)))
	request.Header.Set("Idempotency-Key", fmt.Sprint("bench-", id))
	response, err := l.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("bill %d: %d %.200s", id, response.StatusCode, text)
	}
	return nil
}

// questions is how many statements the server has been asked for.
func (l *laboratories) questions(ctx context.Context) (n int, err error) {
	var name string
	err = l.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
	return n, err
}
