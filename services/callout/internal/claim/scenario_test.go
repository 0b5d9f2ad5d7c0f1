package claim_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

var (
	asha  = storetest.Asha.Actor
	vivek = authn.Actor{Kind: authn.ActorDoctor, ID: 77, Name: "Dr Vivek"} // same id as Asha, but a doctor
	none  time.Time
)

// board is a fixture with one waiting potassium result, which the users of the tests claim.
type board struct{ *storetest.Fixture }

func open(t *testing.T, db *sql.DB) board {
	t.Helper()
	b := board{storetest.Over(t, db, storetest.NewClock())}
	b.Pending()
	return b
}

func pending(t *testing.T) board {
	t.Helper()
	t.Parallel()
	return open(t, storetest.NewDatabase(t))
}

func (b board) claim(by authn.Actor, insteadOf time.Time) (claim.Claim, error) {
	b.T.Helper()
	return b.Claim.Claim(b.T.Context(), storetest.Lab(b.T, 12), by, storetest.Everything, storetest.Potassium, insteadOf)
}

func (b board) release(by authn.Actor) error {
	b.T.Helper()
	return b.Claim.Release(b.T.Context(), storetest.Lab(b.T, 12), by, storetest.Everything, storetest.Potassium)
}

// shown returns the claim on the laboratory's board.
func (b board) shown() claim.Claim {
	b.T.Helper()
	list, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything)
	b.Must(err)
	if len(list.Items) == 0 {
		return claim.Claim{}
	}
	return list.Items[0].Claim
}

// later moves the claims d into the past. It changes their rows, because the service uses the database's clock.
func (b board) later(d time.Duration) {
	b.T.Helper()
	b.Exec("UPDATE callout_episode SET claimed_at = claimed_at - ?, claimed_until = claimed_until - ?", d.Milliseconds(), d.Milliseconds())
}

// refused returns the reason of an error and the name in its data.
func refused(err error) string {
	if e, ok := apperr.From(err); ok {
		name, _, _ := strings.Cut(string(e.Data), `","since`)
		return e.Reason + strings.Replace(name, `{"name":"`, " ", 1)
	}
	return ""
}

// TestOthersSeeWhoIsCalling checks that Vivek sees Asha's claim and cannot claim the report until she releases it.
func TestOthersSeeWhoIsCalling(t *testing.T) {
	b := pending(t)
	b.Want("no one", b.shown().By.Name, "")
	woken := b.Count.Woken
	c, err := b.claim(asha, none)
	b.Must(err)
	b.Want("the board", b.shown(), c)
	b.Want("open boards were woken", b.Count.Woken, woken+1)
	b.Want("ten minutes", c.Until.Sub(c.Since), 10*time.Minute)
	_, err = b.claim(vivek, none)
	b.Want("the other", refused(err), "CLAIMED Asha R")
	if strings.Contains(err.Error(), "Asha") {
		t.Errorf("the message names a person: %v", err)
	}
	b.Want("the other gives it up", refused(b.release(vivek)), "CLAIMED Asha R")
	b.Must(b.release(asha))
	b.Must(b.release(asha))
	b.Want("no one again", b.shown().By.Name, "")
	b.Must(b.release(vivek))
	_, err = b.claim(vivek, none)
	b.Must(err)
	b.Want("the other", b.shown().By, vivek)
}

// TestARepeatedClaimLastsLonger checks that renewing a claim moves its end but not its beginning.
func TestARepeatedClaimLastsLonger(t *testing.T) {
	b := pending(t)
	first, err := b.claim(asha, none)
	b.Must(err)
	b.later(9 * time.Minute)
	again, err := b.claim(asha, none)
	b.Must(err)
	b.Want("the beginning", again.Since, first.Since.Add(-9*time.Minute))
	if again.Until.Before(first.Until) {
		t.Errorf("it ends at %v, want no earlier than %v", again.Until, first.Until)
	}
}

func TestAClaimEndsByItself(t *testing.T) {
	b := pending(t)
	_, err := b.claim(asha, none)
	b.Must(err)
	b.later(9 * time.Minute)
	b.Want("after nine minutes", b.shown().By, asha)
	b.later(time.Minute)
	b.Want("after ten", b.shown(), claim.Claim{})
	c, err := b.claim(vivek, none)
	b.Must(err)
	b.Want("the next", b.shown(), c)
}

// TestAClaimIsTakenOverFromThePersonWhoWasSeen checks that a takeover must name the current claim. Meena sees Asha's
// claim, but Vivek takes it over first, so Meena's request is rejected with his name.
func TestAClaimIsTakenOverFromThePersonWhoWasSeen(t *testing.T) {
	b := pending(t)
	seen, err := b.claim(asha, none)
	b.Must(err)
	b.later(time.Minute)
	seen.Since = seen.Since.Add(-time.Minute)
	_, err = b.claim(vivek, seen.Since)
	b.Must(err)
	b.Want("the board", b.shown().By, vivek)
	meena := authn.Actor{Kind: authn.ActorLabUser, ID: 78, Name: "Meena"}
	_, err = b.claim(meena, seen.Since)
	b.Want("the second", refused(err), "CLAIMED Dr Vivek")
	_, err = b.claim(asha, none)
	b.Want("the first", refused(err), "CLAIMED Dr Vivek")
	b.Must(b.release(vivek))
	_, err = b.claim(meena, seen.Since)
	b.Must(err) // there is no claim to take over
}

func TestOneOfTwoWhoClaimAtOnceWins(t *testing.T) {
	b := pending(t)
	people := []authn.Actor{asha, vivek}
	errs := make([]error, len(people))
	var all sync.WaitGroup
	for i, by := range people {
		all.Go(func() { _, errs[i] = b.claim(by, none) })
	}
	all.Wait()
	won := 0
	if errs[0] != nil {
		won = 1
	}
	b.Want("the winner", errs[won], nil)
	b.Want("the other", refused(errs[1-won]), "CLAIMED "+people[won].Name)
	b.Want("the board", b.shown().By, people[won])
}

// TestAClaimRefusesNoCallout checks that a claim of Asha prevents neither Vivek's attempt nor his call. An attempt ends
// only the claim of the person who made it, because the other person may still be on the telephone.
func TestAClaimRefusesNoCallout(t *testing.T) {
	b := pending(t)
	saved := func(by save.Performer, draft bool) {
		t.Helper()
		yes := true
		_, err := b.Save.Save(t.Context(), storetest.Lab(t, 12), by, save.Callout{
			BillID: storetest.Bill, ReportIDs: []int64{storetest.Potassium}, Draft: draft, Recipients: []string{"a"},
			Methods: []string{"call"}, ReadBack: &yes, Person: "Dr Rao",
		})
		b.Must(err)
	}
	doctor := save.Performer{DoctorID: vivek.ID, Actor: vivek, Sees: storetest.Everything}
	_, err := b.claim(asha, none)
	b.Must(err)
	saved(doctor, true)
	b.Want("Asha is still calling", b.shown().By, asha)
	saved(storetest.Asha, true)
	b.Want("the attempt ended her claim", b.shown(), claim.Claim{})
	_, err = b.claim(asha, none)
	b.Must(err)
	saved(doctor, false)
	b.Want("done", b.Judged(12, storetest.Potassium), "7001 CALLOUT_DONE")
	_, err = b.claim(asha, none)
	b.Want("what is done", refused(err), "NOT_WAITING")
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.9")
	b.Want("critical again", b.Judged(12, storetest.Potassium), "7001 CALLOUT_PENDING")
	b.Want("without a claim", b.shown(), claim.Claim{})
}

// TestOnlyAVisibleWaitingReportIsClaimed checks that only a waiting report of the user's own laboratory and department
// can be claimed.
func TestOnlyAVisibleWaitingReportIsClaimed(t *testing.T) {
	b := pending(t)
	for name, c := range map[string]struct {
		lab, report int64
		sees        callout.Visibility
	}{
		"another laboratory's":   {13, storetest.Potassium, storetest.Everything},
		"another department's":   {12, storetest.Potassium, callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}},
		"one that does not wait": {12, storetest.Count, storetest.Everything},
		"none":                   {12, 1, storetest.Everything},
	} {
		lab := storetest.Lab(t, c.lab)
		_, err := b.Claim.Claim(t.Context(), lab, asha, c.sees, c.report, none)
		b.Want(name, refused(err), "NOT_WAITING")
		b.Want(name, refused(b.Claim.Release(t.Context(), lab, asha, c.sees, c.report)), "NOT_WAITING")
	}
	b.Want("the board", b.shown(), claim.Claim{})
}

// TestADeathLeavesTheClaimOrNone aborts claiming and releasing before each of their statements, then repeats them. It
// checks that the repetition succeeds.
func TestADeathLeavesTheClaimOrNone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct {
		do   func(board) error
		want authn.Actor
	}{
		"claim":   {func(b board) error { _, err := b.claim(asha, none); return err }, asha},
		"release": {func(b board) error { return b.release(asha) }, authn.Actor{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b board
			start := func() string {
				db, dsn := storetest.OpenDatabase(t)
				b = open(t, db)
				if name == "release" {
					_, err := b.claim(asha, none)
					b.Must(err)
				}
				return dsn
			}
			run := func(db *sql.DB) error { return change.do(board{storetest.Over(t, db, b.Clock)}) }
			crashes := crashdb.Each(t, start, run, func(c crashdb.Crash, _ error) {
				if by := b.shown().By; by != asha && by != (authn.Actor{}) {
					t.Fatalf("%v: %v is calling", c, by)
				}
				b.Must(change.do(b))
				b.Want("after the repetition", b.shown().By, change.want)
			})
			if len(crashes) < 4 {
				t.Fatalf("%d crashes, want at least 4", len(crashes))
			}
		})
	}
}
