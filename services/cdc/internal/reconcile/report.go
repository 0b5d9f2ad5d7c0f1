package reconcile

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
)

// Options are those of the verb reconcile.
type Options struct {
	LabID  int64         // 0: every laboratory
	Repair bool          // mend what differs
	Wait   time.Duration // how long to wait until nothing differs any more; 0: tell what is
}

// Total sums up a report.
type Total struct {
	Laboratories int
	Count
	Differences int // at the end, after repair and waiting
	Repaired    int
	Unsettled   int
}

// String is the last line of a report.
func (t Total) String() string {
	line := fmt.Sprintf("%s, %s, %s", counted(int64(t.Laboratories), "laboratory", "laboratories"), counted(t.Patients, "patient", "patients"),
		counted(int64(t.Differences), "difference", "differences"))
	if t.Repaired > 0 {
		line += fmt.Sprintf(", %s sent for repair", thousands(int64(t.Repaired)))
	}
	if t.Unsettled > 0 {
		line += fmt.Sprintf(", %s still changing", counted(int64(t.Unsettled), "patient", "patients"))
	}
	return line
}

const (
	shownDifferences = 20 // of one laboratory
	progressEvery    = 2 * time.Second
	waitBetweenLooks = time.Second
)

// Report compares laboratories, prints progress and what differs to w, and sums up. The error is a fault.
func (r *Reconciler) Report(ctx context.Context, o Options, w io.Writer, now clock.Clock) (Total, error) {
	labs, err := r.chosen(ctx, o.LabID)
	if err != nil {
		return Total{}, err
	}
	deadline := now.Now().Add(o.Wait)
	var total Total
	for i, lab := range labs {
		name := fmt.Sprintf("laboratory %d (%d of %d)", lab.LabID(), i+1, len(labs))
		said := now.Now()
		result, err := r.Compare(ctx, lab, func(c Count) {
			if now.Now().Sub(said) >= progressEvery {
				said = now.Now()
				fmt.Fprintf(w, "%s: %s so far\n", name, counted(c.Patients, "patient", "patients"))
			}
		})
		if err != nil {
			return total, err
		}
		left, err := r.resolve(ctx, result, o, deadline, w, now, &total)
		if err != nil {
			return total, err
		}
		total.Laboratories++
		total.Patients += result.Patients
		total.Documents += result.Documents
		total.Differences += left
		total.Unsettled += result.Unsettled
		fmt.Fprintf(w, "%s: %s, %s, %s\n", name, counted(result.Patients, "patient", "patients"), counted(result.Documents, "document", "documents"),
			counted(int64(left), "difference", "differences"))
	}
	fmt.Fprintln(w, total)
	return total, nil
}

func (r *Reconciler) chosen(ctx context.Context, lab int64) ([]authn.LabScope, error) {
	if lab == 0 {
		return r.Labs(ctx)
	}
	scope, err := r.d.Scope(lab)
	return []authn.LabScope{scope}, err //nolint:wrapcheck // says what is wrong with the number
}

// resolve shows what differs, mends it and waits, as the options say, and returns how many differences are left.
func (r *Reconciler) resolve(ctx context.Context, result Result, o Options, deadline time.Time, w io.Writer, now clock.Clock, total *Total) (int, error) {
	left := result.Differences
	for i, d := range left {
		if i == shownDifferences {
			fmt.Fprintf(w, "  and %s more\n", thousands(int64(len(left)-i)))
			break
		}
		fmt.Fprintf(w, "  %s\n", d)
	}
	if o.Repair && len(left) > 0 {
		if err := r.Repair(ctx, left); err != nil {
			return len(left), err
		}
		total.Repaired += len(left)
	}
	for len(left) > 0 && now.Now().Before(deadline) {
		if err := pause(ctx, waitBetweenLooks); err != nil {
			return len(left), err
		}
		still, err := r.Still(ctx, result.LabID, left)
		if err != nil {
			return len(left), err
		}
		left = still
	}
	return len(left), nil
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// thousands writes 200000 as 200,000.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
