package periodic

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// MaxDefinitions is the most that the queue keeps: every tick reads them all.
const MaxDefinitions = 1000

// Reader reads all definitions by their keys.
type Reader interface {
	Periodic(ctx context.Context) (map[string][]byte, error)
}

// Store keeps the definitions.
type Store interface {
	Reader
	// Tick replaces a definition, and gives birth to the job of its tick, unless it changed since it was observed.
	Tick(ctx context.Context, t engine.Tick) (bool, error)
}

// Deps are what a book works with.
type Deps struct {
	Store     Store
	Validator *task.Validator
	Clock     clock.Clock
	Seals     *seal.Ring // nil: payloads are stored as they are
}

// Book puts, lists and deletes definitions. Safe for concurrent use.
type Book struct{ Deps }

// NewBook makes a book.
func NewBook(deps Deps) *Book { return &Book{Deps: deps} }

// Request is a definition as its owner wrote it.
type Request struct {
	Name   string
	Cron   string
	Missed string // skip, which is the default, or once
	Task   task.Submission
}

// changes is how often a definition may change between a look at it and the answer.
const changes = 20

// Put adds a definition or replaces the owner's of the same name, and tells its next time. With the same expression the
// times go on as they were, so a service may put its definitions at every start.
func (b *Book) Put(ctx context.Context, caller task.Caller, r Request) (time.Time, error) {
	d, err := b.check(caller, r)
	if err != nil {
		return time.Time{}, err
	}
	for range changes {
		all, err := b.Store.Periodic(ctx)
		if err != nil {
			return time.Time{}, unavailable(err)
		}
		observed, exists := all[d.Key()]
		if !exists && len(all) >= MaxDefinitions {
			return time.Time{}, apperr.New(apperr.TooManyRequests, "TOO_MANY_PERIODIC_JOBS",
				fmt.Sprintf("The queue keeps %d periodic jobs; delete those that nobody needs", MaxDefinitions))
		}
		next := *d
		if old, err := decode(observed); exists && err == nil && old.Cron == d.Cron {
			next.NextMs, next.LastMs, next.LastJob = old.NextMs, old.LastMs, old.LastJob
		}
		raw, err := next.encode()
		if err != nil {
			return time.Time{}, err
		}
		put, err := b.Store.Tick(ctx, engine.Tick{Key: d.Key(), Observed: observed, Definition: raw})
		if err != nil {
			return time.Time{}, unavailable(err)
		}
		if put {
			return time.UnixMilli(next.NextMs), nil
		}
	}
	return time.Time{}, unavailable(errChanging)
}

// check makes the definition that a request asks for, with its first time.
func (b *Book) check(caller task.Caller, r Request) (*Definition, error) {
	planned, wrong := b.Validator.Check(0, r.Task, caller)
	add := func(field, message string) {
		wrong = append(wrong, apperr.Field{Index: -1, Name: field, Message: message})
	}
	if !names.MatchString(r.Name) {
		add("name", "the name must be 1 to 100 small letters, digits, dots, dashes and underscores")
	}
	d := &Definition{Name: r.Name, Owner: caller.Name, LabID: caller.LabID, Cron: r.Cron, Missed: Missed(r.Missed),
		Lane: planned.Lane}
	if r.Missed == "" {
		d.Missed = Skip
	}
	if d.Missed != Skip && d.Missed != Once {
		add("missed", "missed is skip or once")
	}
	schedule, err := parse(r.Cron)
	if err != nil {
		add("cron", err.Error())
	} else if d.NextMs = millis(schedule.Next(b.Clock.Now())); d.NextMs == 0 {
		add("cron", errNever.Error())
	}
	if len(wrong) > 0 {
		return nil, apperr.InvalidFields(wrong...)
	}
	b.Seals.Seal(&planned.Body, planned.Lane.Channel)
	d.Body = planned.Body.Encode(nil)
	return d, nil
}

// All reads every definition of a queue, by name.
func All(ctx context.Context, store Reader) ([]*Definition, error) {
	all, err := store.Periodic(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	list := make([]*Definition, 0, len(all))
	for _, raw := range all {
		d, err := decode(raw)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(x, y *Definition) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.LabID, y.LabID), cmp.Compare(x.Owner, y.Owner))
	})
	return list, nil
}

// List returns the owner's definitions of a laboratory by name; lab 0 stands for those without one.
func (b *Book) List(ctx context.Context, caller task.Caller) ([]*Definition, error) {
	all, err := All(ctx, b.Store)
	return slices.DeleteFunc(all, func(d *Definition) bool {
		return d.Owner != caller.Name || d.LabID != caller.LabID
	}), err
}

// Delete removes the owner's definition and reports whether there was one. Jobs that ticks gave birth to go on.
func (b *Book) Delete(ctx context.Context, caller task.Caller, name string) (bool, error) {
	k := key(caller.Name, caller.LabID, name)
	for range changes {
		all, err := b.Store.Periodic(ctx)
		if err != nil {
			return false, unavailable(err)
		}
		observed, exists := all[k]
		if !exists {
			return false, nil
		}
		if gone, err := b.Store.Tick(ctx, engine.Tick{Key: k, Observed: observed}); err != nil || gone {
			return gone, unavailable(err)
		}
	}
	return false, unavailable(errChanging)
}
