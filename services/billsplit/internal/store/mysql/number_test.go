package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// TestANumberThatAnotherProgramGivesOutMeanwhile checks that a split takes the next free number if the platform's core,
// which does not use the counter, takes its number between nextBillNumber and create.
func TestANumberThatAnotherProgramGivesOutMeanwhile(t *testing.T) {
	t.Parallel()
	taken, f, err := splitBesideOthers(t, 2)
	if counter := f.Dump().Counters[12]; err != nil || len(taken) != 3 || taken[2] != 304 || counter != 304 {
		t.Errorf("numbers %v, counter %d, %v; want three numbers up to 304", taken, counter, err)
	}
}

// TestNumbersThatAreTakenAgainAndAgain checks that the error asks the caller to try again.
func TestNumbersThatAreTakenAgainAndAgain(t *testing.T) {
	t.Parallel()
	if taken, _, err := splitBesideOthers(t, 1000); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("numbers %v, %v; want an error that says to try again", taken, err)
	}
}

// splitBesideOthers splits a bill. Another program uses the first others numbers that the split takes before the split
// does.
func splitBesideOthers(t *testing.T, others int) (taken []int64, f fixture, err error) {
	t.Helper()
	f = open(t, storetest.Worked())
	err = f.split(func(facts split.Facts) (split.Decision, error) {
		if taken = append(taken, facts.NextNumber); len(taken) <= others {
			f.Exec("INSERT INTO billing (labId_id, labBillId, userDetailsId_id) VALUES (12, ?, 1)", facts.NextNumber)
		}
		return moving(facts.NextNumber), nil
	})
	return taken, f, err
}
