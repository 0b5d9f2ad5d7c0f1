package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// TestANumberThatAnotherProgramGivesOutMeanwhile has the platform's core, which knows no counter, take the number between
// its taking and its use.
func TestANumberThatAnotherProgramGivesOutMeanwhile(t *testing.T) {
	t.Parallel()
	db := storetest.Database(t)
	b := storetest.OnDatabase(t, db, storetest.Worked())
	var taken []int64
	_, _, err := b.Once(t.Context(), storetest.Lab(t, 12), idempotency.Request{}, func(l split.Locked) ([]byte, error) {
		number, err := l.NextBillNumber(t.Context())
		if err != nil {
			return nil, err
		}
		if taken = append(taken, number); len(taken) < 3 {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO billing (labId_id, labBillId, userDetailsId_id) VALUES (12, ?, 1)", number); err != nil {
				return nil, err
			}
		}
		_, err = l.Create(t.Context(), storetest.Original, split.Draft{LabBillID: number})
		return nil, err
	})
	if err != nil || len(taken) != 3 || taken[2] != 304 || b.Dump().Counters[12] != 304 {
		t.Errorf("numbers %v, counter %v, %v", taken, b.Dump().Counters, err)
	}
}
