package reconcile

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Options are the options of the verb reconcile.
type Options struct {
	LabID  int64         // 0: all laboratories
	Repair bool          // repair differences
	Wait   time.Duration // maximum time to wait until no difference is left; 0: do not wait
}

// Total is the sum over all laboratories in a report.
type Total struct {
	Laboratories int
	Count
	Differences int // remaining after repair and wait
	Repaired    int
	Refused     int // patients rejected by the database or the index
	Unsettled   int
}

// String returns the last line of a report.
func (t Total) String() string {
	line := fmt.Sprintf("%s, %s, %s", counted(int64(t.Laboratories), "laboratory", "laboratories"),
		counted(t.Patients, "patient", "patients"), counted(int64(t.Differences), "difference", "differences"))
	if t.Repaired > 0 {
		line += fmt.Sprintf(", %s sent for repair", thousands(int64(t.Repaired)))
	}
	if t.Refused > 0 {
		line += fmt.Sprintf(", %s refused", counted(int64(t.Refused), "patient", "patients"))
	}
	if t.Unsettled > 0 {
		line += fmt.Sprintf(", %s still changing", counted(int64(t.Unsettled), "patient", "patients"))
	}
	return line
}

const (
	shownDifferences = 20 // maximum number printed per laboratory
	progressEvery    = 2 * time.Second
	waitBetweenLooks = time.Second
)

// Report compares laboratories, prints progress and differences to w, and returns the total. The error is a fault.
func (r *Reconciler) Report(ctx context.Context, o Options, w io.Writer, now clock.Clock) (Total, error) {
	labs, err := r.chosen(ctx, o.LabID)
	if err != nil {
		return Total{}, err
	}
	p := &report{r: r, o: o, w: w, clock: now, patience: o.Wait}
	for i, lab := range labs {
		if err := p.laboratory(ctx, lab, fmt.Sprintf("laboratory %d (%d of %d)", lab.LabID(), i+1, len(labs))); err != nil {
			return p.total, err
		}
	}
	fmt.Fprintln(w, p.total)
	return p.total, nil
}

func (r *Reconciler) chosen(ctx context.Context, lab int64) ([]authn.LabScope, error) {
	if lab == 0 {
		return r.Labs(ctx)
	}
	scope, err := r.d.Scope(lab)
	return []authn.LabScope{scope}, err
}

// report is the state of one call of Report.
type report struct {
	r        *Reconciler
	o        Options
	w        io.Writer
	clock    clock.Clock
	patience time.Duration // remaining waiting time
	total    Total
}

func (p *report) laboratory(ctx context.Context, lab authn.LabScope, name string) error {
	result, err := p.settled(ctx, lab, name)
	if err != nil {
		return err
	}
	p.total.Laboratories++
	p.total.Patients += result.Patients
	p.total.Documents += result.Documents
	p.total.Differences += len(result.Differences)
	p.total.Unsettled += result.Unsettled
	fmt.Fprintf(p.w, "%s: %s, %s, %s\n", name, counted(result.Patients, "patient", "patients"),
		counted(result.Documents, "document", "documents"),
		counted(int64(len(result.Differences)), "difference", "differences"))
	return nil
}

// settled compares a laboratory, prints the differences, repairs them once if requested, and compares again while
// waiting time is left.
func (p *report) settled(ctx context.Context, lab authn.LabScope, name string) (Result, error) {
	for repaired := false; ; {
		result, err := p.r.Compare(ctx, lab, p.progress(name))
		if err != nil || len(result.Differences) == 0 {
			return result, err
		}
		show(p.w, result.Differences)
		if p.o.Repair && !repaired {
			refused, err := p.r.Repair(ctx, result.Differences)
			if err != nil {
				return result, err
			}
			for _, refusal := range refused[:min(len(refused), shownDifferences)] {
				fmt.Fprintf(p.w, "  %s\n", refusal)
			}
			p.total.Refused += len(refused)
			p.total.Repaired += len(result.Differences) - len(refused)
			repaired = true
		}
		left, err := p.wait(ctx, lab.LabID(), result.Differences)
		if err != nil || len(left) > 0 {
			result.Differences = left
			return result, err
		}
	}
}

func (p *report) progress(name string) func(Count) {
	said := p.clock.Now()
	return func(c Count) {
		if now := p.clock.Now(); now.Sub(said) >= progressEvery {
			said = now
			fmt.Fprintf(p.w, "%s: %s so far\n", name, counted(c.Patients, "patient", "patients"))
		}
	}
}

// wait reads differences again until none is left or the waiting time is used up, and returns the remaining ones. The
// time of a comparison does not count, because a large laboratory would use it up.
func (p *report) wait(ctx context.Context, lab int64, left []Difference) ([]Difference, error) {
	for len(left) > 0 && p.patience > 0 {
		begin := p.clock.Now()
		if err := lifecycle.Pause(ctx, waitBetweenLooks); err != nil {
			return left, err
		}
		still, err := p.r.Still(ctx, lab, left)
		if err != nil {
			return left, err
		}
		left = still
		p.patience -= p.clock.Now().Sub(begin)
	}
	return left, nil
}

func show(w io.Writer, differences []Difference) {
	for _, d := range differences[:min(len(differences), shownDifferences)] {
		fmt.Fprintf(w, "  %s\n", d)
	}
	if more := len(differences) - shownDifferences; more > 0 {
		fmt.Fprintf(w, "  and %s more\n", thousands(int64(more)))
	}
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// thousands formats 200000 as 200,000.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
