package periodic

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Missed says what becomes of ticks at which no process ran.
type Missed string

// The policies.
const (
	Skip Missed = "skip" // they are left out
	Once Missed = "once" // one job runs for all of them, as soon as a process runs again
)

// late is how old a tick may be and still counts as one that nobody missed.
const late = time.Minute

// Definition is a task that runs periodically.
type Definition struct {
	Name    string   `json:"name"`
	Owner   string   `json:"owner"` // who put it, as in the jobs
	LabID   int64    `json:"lab_id"`
	Cron    string   `json:"cron"`
	Missed  Missed   `json:"missed"`
	Lane    job.Lane `json:"lane"`
	Body    []byte   `json:"body"` // of its jobs, as they are stored
	NextMs  int64    `json:"next_ms"`
	LastMs  int64    `json:"last_ms"` // the last tick that became a job; 0: none
	LastJob job.ID   `json:"last_job"`
}

// Key names the definition among all of the queue: names belong to an owner and a laboratory.
func (d *Definition) Key() string { return key(d.Owner, d.LabID, d.Name) }

func key(owner string, lab int64, name string) string {
	return fmt.Sprintf("%s/%d/%s", owner, lab, name)
}

func (d *Definition) encode() ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode periodic job: %w", err)
	}
	return raw, nil
}

func decode(raw []byte) (*Definition, error) {
	d := &Definition{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("read periodic job: %w", err)
	}
	return d, nil
}

var names = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

var (
	errEvery = errors.New("@every has no fixed times; use an expression such as */5 * * * *")
	errNever = errors.New("the expression names no time of the next five years")
)

// parse reads a cron expression of five fields or a descriptor such as @daily, in UTC unless it begins with CRON_TZ=.
func parse(expression string) (cron.Schedule, error) {
	if strings.Contains(expression, "@every") {
		return nil, errEvery
	}
	if !strings.HasPrefix(expression, "CRON_TZ=") && !strings.HasPrefix(expression, "TZ=") {
		expression = "CRON_TZ=UTC " + expression
	}
	schedule, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, fmt.Errorf("not a cron expression of five fields: %w", err)
	}
	return schedule, nil
}

// due finds the latest tick up to now and the first one after it. last is zero when none is due.
func (d *Definition) due(now time.Time) (last, next time.Time, err error) {
	schedule, err := parse(d.Cron)
	if err != nil {
		return last, next, err
	}
	for next = time.UnixMilli(d.NextMs); !next.IsZero() && !next.After(now); next = schedule.Next(next) {
		last = next
	}
	return last, next, nil
}

// runs reports whether a tick that is looked at now becomes a job.
func (d *Definition) runs(tick, now time.Time) bool { return d.Missed == Once || now.Sub(tick) <= late }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
