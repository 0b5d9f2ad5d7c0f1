package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
)

// Observer receives the results of the loop for metrics.
type Observer interface {
	// Compared counts one laboratory whose differences were all sent for repair, except those of refused patients.
	Compared(result Result, refused int)
	// Held reports that nothing was repaired, because too many patients of a laboratory differ.
	Held(result Result)
}

// Cursor stores the progress of the loop for the next leader.
type Cursor interface {
	// Turn returns the last compared laboratory, or 0 before the first. The error is a fault.
	Turn(ctx context.Context) (int64, error)
	SetTurn(ctx context.Context, lab int64) error
}

// Loop compares and repairs one laboratory after another.
type Loop struct {
	Reconciler *Reconciler
	Observer   Observer
	Cursor     Cursor
	Clock      clock.Clock
	Log        *slog.Logger
	// Share is how long a call of RunOnce continues with further laboratories, so that many small ones take no longer than
	// a large one.
	Share time.Duration
	// Indexed reports whether the index should match the rows. It is false before the end of the migration of user_meta
	// and during a full resync. The error is a fault.
	Indexed func(context.Context) (bool, error)
	// Late reports whether the pipeline has old changes that it has not processed yet. The error is a fault.
	Late func(context.Context) (bool, error)

	// The fields below need no lock, because RunOnce is not called concurrently.
	told    map[int64]int64     // logged revisions of refused patients
	held    map[int64]time.Time // when a laboratory that is not repaired was last logged
	labs    []authn.LabScope    // laboratories of the database and the index, as of read
	read    time.Time
	indexed []int64 // laboratories of the index, as of asked
	asked   time.Time
	fresh   []authn.LabScope // new laboratories that were not compared yet
	retry   []authn.LabScope // new laboratories whose first comparison failed
}

const (
	labsFor    = 3 * time.Minute // how long the list of the database's laboratories is cached
	indexedFor = time.Hour       // how long the list from the index is cached, which requires reading all documents
	// heldFor is how often the log repeats that a laboratory is not repaired.
	heldFor = time.Hour
)

// laboratories returns the laboratories to compare, and adds new ones to fresh.
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
	l.fresh, l.retry = append(l.fresh, l.retry...), nil
	for _, lab := range labs {
		if len(l.labs) > 0 && !slices.Contains(l.labs, lab) {
			l.fresh = append(l.fresh, lab)
		}
	}
	l.labs, l.read = labs, now
	return labs, nil
}

// RunOnce compares the next laboratories, at least one and each at most once. The cursor moves before a laboratory is
// compared, so that a failing one is skipped until its next turn; a new one is compared again when the list of
// laboratories is read the next time. The error is a fault.
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
		lab, fresh := turn(labs, last), len(l.fresh) > 0
		if fresh { // a new laboratory could wait hours for its turn
			lab, l.fresh = l.fresh[0], l.fresh[1:]
		} else if err := l.Cursor.SetTurn(ctx, lab.LabID()); err != nil {
			return err
		} else {
			last = lab.LabID()
		}
		if err := l.compare(ctx, lab); err != nil {
			if fresh {
				l.retry = append(l.retry, lab)
			}
			return err
		}
		if !l.Clock.Now().Before(end) {
			return nil
		}
	}
	return nil
}

// compare compares and repairs one laboratory, unless too many of its patients differ.
func (l *Loop) compare(ctx context.Context, lab authn.LabScope) error {
	result, err := l.Reconciler.Compare(ctx, lab, func(Count) {})
	if err != nil {
		return err
	}
	if tooMany(result) {
		if late, err := l.Late(ctx); err != nil || late { // the late changes probably explain the differences
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

// hold counts a laboratory that is not repaired, and logs it at most once an hour.
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

// Limits of the patients per laboratory that are repaired without an operator. More differences are not caused by lost
// events, but by a wrong database or a defective release.
const (
	maxRepaired = 50
	maxShare    = 20 // one patient in twenty
)

func tooMany(r Result) bool {
	return int64(patients(r.Differences)) > max(maxRepaired, r.Patients/maxShare)
}

func patients(differences []Difference) int {
	users := map[int64]bool{}
	for _, d := range differences {
		users[d.UserID] = true
	}
	return len(users)
}

// tell logs each refused revision once, although every comparison finds it until the cause is fixed.
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

// turn returns the laboratory with the smallest id above last or, if there is none, with the smallest id.
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
