package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
)

// Observer hears of the loop's work, for metrics.
type Observer interface {
	// Compared counts one laboratory. Every kind of the differences has been sent for repair, but for those of refused
	// patients.
	Compared(result Result, refused int)
	// Held reports that so many patients of one laboratory differ that nothing was repaired.
	Held(result Result)
}

// Cursor keeps how far the loop has come, for whichever process leads next.
type Cursor interface {
	// Turn returns the laboratory of the last turn, 0 before the first. The error is a fault.
	Turn(ctx context.Context) (int64, error)
	SetTurn(ctx context.Context, lab int64) error
}

// Loop compares and repairs one laboratory after the other.
type Loop struct {
	Reconciler *Reconciler
	Observer   Observer
	Cursor     Cursor
	Clock      clock.Clock
	Log        *slog.Logger
	// Share is how long a call of RunOnce continues to the next laboratory: many small ones cost no more than a large one.
	Share time.Duration
	// Indexed reports whether the index is meant to be what the rows say: not before the migration of user_meta is over,
	// nor while all patients are computed again. The error is a fault.
	Indexed func(context.Context) (bool, error)
	// Late reports whether changes are on their way that took effect some time ago. The error is a fault.
	Late func(context.Context) (bool, error)

	// What follows belongs to the one turn that runs at a time.
	told    map[int64]int64     // revisions of refused patients of which the log told already
	held    map[int64]time.Time // when the log told last of a laboratory that is held
	labs    []authn.LabScope    // as of read
	read    time.Time
	indexed []int64 // laboratories of the index, as of asked
	asked   time.Time
	fresh   []authn.LabScope // laboratories that came since, not compared yet
}

const (
	labsFor    = 3 * time.Minute // how long the laboratories of the database count
	indexedFor = time.Hour       // those of the index: the engine goes through all documents to list them
	// heldFor is how often the log repeats that a laboratory is held.
	heldFor = time.Hour
)

// laboratories returns the laboratories to compare. One that came since the last list is noted as fresh.
func (l *Loop) laboratories(ctx context.Context) ([]authn.LabScope, error) {
	now := l.Clock.Now()
	if len(l.labs) > 0 && now.Sub(l.read) < labsFor {
		return l.labs, nil
	}
	if l.indexed == nil || now.Sub(l.asked) >= indexedFor {
		indexed, err := l.Reconciler.indexed(ctx)
		if err != nil {
			return nil, err
		}
		l.indexed, l.asked = indexed, now
	}
	labs, err := l.Reconciler.labs(ctx, l.indexed)
	if err != nil {
		return nil, err
	}
	for _, lab := range labs {
		if len(l.labs) > 0 && !slices.Contains(l.labs, lab) {
			l.fresh = append(l.fresh, lab)
		}
	}
	l.labs, l.read = labs, now
	return labs, nil
}

// RunOnce takes the next laboratories, at least one and each at most once. One that fails is passed over until its next
// turn: one broken laboratory must not keep the others from theirs. The error is a fault.
func (l *Loop) RunOnce(ctx context.Context) error {
	if indexed, err := l.Indexed(ctx); err != nil || !indexed {
		return err
	}
	labs, err := l.laboratories(ctx)
	if err != nil {
		return err
	}
	last, err := l.Cursor.Turn(ctx)
	if err != nil {
		return err
	}
	end := l.Clock.Now().Add(l.Share)
	for range labs {
		lab := turn(labs, last)
		if len(l.fresh) > 0 { // its turn may be hours away
			lab, l.fresh = l.fresh[0], l.fresh[1:]
		} else if err := l.Cursor.SetTurn(ctx, lab.LabID()); err != nil {
			return err
		} else {
			last = lab.LabID()
		}
		if err := l.compare(ctx, lab); err != nil {
			return err
		}
		if !l.Clock.Now().Before(end) {
			return nil
		}
	}
	return nil
}

// compare compares and repairs one laboratory.
func (l *Loop) compare(ctx context.Context, lab authn.LabScope) error {
	result, err := l.Reconciler.Compare(ctx, lab, func(Count) {})
	if err != nil {
		return err
	}
	if tooMany(result) {
		if late, err := l.Late(ctx); err != nil || late { // they are what differs, as far as anybody can know
			return err
		}
		l.hold(ctx, lab, result)
		return nil
	}
	refused, err := l.Reconciler.Repair(ctx, result.Differences)
	if err != nil {
		return err
	}
	l.tell(ctx, lab, refused)
	l.Observer.Compared(result, len(refused))
	return nil
}

// hold counts a laboratory that is not repaired each time, and logs it once an hour.
func (l *Loop) hold(ctx context.Context, lab authn.LabScope, result Result) {
	l.Observer.Held(result)
	if told, known := l.held[lab.LabID()]; known && l.Clock.Now().Sub(told) < heldFor {
		return
	}
	if l.held == nil {
		l.held = map[int64]time.Time{}
	}
	l.held[lab.LabID()] = l.Clock.Now()
	l.Log.ErrorContext(ctx, "so many patients of a laboratory differ that nothing is repaired", "lab_id", lab.LabID(),
		"patients", result.Patients, "differing", patients(result.Differences), "advice",
		"make sure that this is the right database and the right release; then run cdc reconcile --repair for the laboratory")
}

// Unless an operator allows more, so many patients of one laboratory are repaired at most: more are not lost events but
// another database, or a release that makes other documents.
const (
	maxRepaired = 50
	maxShare    = 20 // one patient in twenty
)

func tooMany(r Result) bool {
	return int64(patients(r.Differences)) > max(maxRepaired, r.Patients/maxShare)
}

// patients counts whom differences are about.
func patients(differences []Difference) int {
	users := map[int64]bool{}
	for _, d := range differences {
		users[d.UserID] = true
	}
	return len(users)
}

// tell logs each refused revision once: it is found again in every pass, until someone fixes it.
func (l *Loop) tell(ctx context.Context, lab authn.LabScope, refused []Refusal) {
	if l.told == nil {
		l.told = map[int64]int64{}
	}
	for _, r := range refused {
		if rev, ok := l.told[r.UserID]; ok && rev == r.Rev {
			continue
		}
		l.told[r.UserID] = r.Rev
		l.Log.WarnContext(ctx, "a patient is not in the index as the sources say", "lab_id", lab.LabID(), "user_id", r.UserID,
			"refused_by", r.By, "reason", r.Why, "advice", "fix the row in the sources; its dead letter names the column")
	}
}

// turn returns the laboratory with the smallest id above last, or the first.
func turn(labs []authn.LabScope, last int64) authn.LabScope {
	next, smallest := authn.LabScope{}, labs[0]
	for _, lab := range labs {
		if lab.LabID() > last && (next.LabID() == 0 || lab.LabID() < next.LabID()) {
			next = lab
		}
		if lab.LabID() < smallest.LabID() {
			smallest = lab
		}
	}
	if next.LabID() == 0 {
		return smallest
	}
	return next
}
