package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// TestANumberThatAnotherProgramGivesOutMeanwhile has the platform's core, which knows no counter, take the number between
// its taking and its use.
func TestANumberThatAnotherProgramGivesOutMeanwhile(t *testing.T) {
	t.Parallel()
	taken, b, err := splitBesideOthers(t, 2)
	if err != nil || len(taken) != 3 || taken[2] != 304 || b.Dump().Counters[12] != 304 {
		t.Errorf("numbers %v, counter %v, %v", taken, b.Dump().Counters, err)
	}
}

// TestNumbersThatAreTakenAgainAndAgain ends with an answer that says that another try can succeed.
func TestNumbersThatAreTakenAgainAndAgain(t *testing.T) {
	t.Parallel()
	if taken, _, err := splitBesideOthers(t, 1000); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("numbers %v, %v", taken, err)
	}
}

// splitBesideOthers begins a split; the first few numbers that it takes are given out by another program before it uses
// them.
func splitBesideOthers(t *testing.T, others int) (taken []int64, b storetest.Backend, err error) {
	t.Helper()
	db := storetest.Database(t)
	b = storetest.OnDatabase(t, db, storetest.Worked())
	_, _, err = b.Once(t.Context(), storetest.Lab(t, 12), idempotency.Request{}, func(l split.Locked) ([]byte, error) {
		number, err := l.NextBillNumber(t.Context())
		if err != nil {
			return nil, err
		}
		if taken = append(taken, number); len(taken) <= others {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO billing (labId_id, labBillId, userDetailsId_id) VALUES (12, ?, 1)", number); err != nil {
				return nil, err
			}
		}
		_, err = l.Create(t.Context(), storetest.Original, split.Draft{LabBillID: number})
		return nil, err
	})
	return taken, b, err
}
