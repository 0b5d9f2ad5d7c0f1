package route

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Sender delivers messages through one account at one provider. Safe for concurrent use.
type Sender interface {
	worker.Handler
	// Paid reports whether each send costs money or must not happen twice: the send is then marked before it begins.
	Paid() bool
}

// Factory makes the sender of a row. An error names what is wrong with the settings.
type Factory func(c job.Channel, name string, settings json.RawMessage) (Sender, error)

// Observer counts attempts by outcome; it must not block.
type Observer interface {
	// Configured tells that a provider exists: its series start at zero.
	Configured(c job.Channel, provider string)
	Attempt(c job.Channel, provider, outcome string)
	// Paused tells whether the provider is left alone.
	Paused(c job.Channel, provider string, paused bool)
}

// Fallback is the provider of channels without rows.
type Fallback struct {
	Name   string
	Sender Sender
}

// Config wires a set.
type Config struct {
	Factory  Factory
	Fallback *Fallback // nil: channels without rows are not served
	Observer Observer
	Log      *slog.Logger
	Pacer    *pace.Pacer       // nil: rows that name a rate get as many as come
	Circuits *circuit.Circuits // nil: of this set alone
}

// Set is the providers of all channels. Safe for concurrent use.
type Set struct {
	cfg Config

	replace sync.Mutex            // one replacement at a time
	current atomic.Pointer[table] // nil until the first Replace
}

// NewSet makes a set that knows no rows yet: messages wait, so that none goes to the fallback by mistake.
// Replace gives it rows, perhaps none.
func NewSet(cfg Config) *Set {
	if cfg.Circuits == nil {
		cfg.Circuits = circuit.New(nil)
	}
	return &Set{cfg: cfg}
}

// Report tells the observer which providers are left alone.
func (s *Set) Report() {
	t := s.current.Load()
	if t == nil {
		return
	}
	for c, accounts := range t.providers {
		for name, p := range accounts {
			s.cfg.Observer.Paused(c, name, s.cfg.Circuits.Holds(p.to))
		}
	}
}

func newTable() *table {
	return &table{
		rules:      map[job.Channel][]*rule{},
		providers:  map[job.Channel]map[string]*account{},
		configured: map[job.Channel]bool{},
	}
}

// Replace takes all rows of the configuration. Providers whose settings did not change keep their state. When
// any row is wrong nothing changes, and the error names every wrong row.
func (s *Set) Replace(rows []Row) error {
	s.replace.Lock()
	defer s.replace.Unlock()
	next := newTable()
	var problems []error
	for _, row := range rows {
		if err := s.add(next, row); err != nil {
			problems = append(problems, fmt.Errorf("tq_provider row %d (%s, %s): %w", row.ID, row.Channel, row.Provider, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for _, list := range next.rules {
		slices.SortFunc(list, order)
	}
	s.current.Store(s.complete(next))
	return nil
}

func (s *Set) add(next *table, row Row) error {
	c, err := channelOf(row.Channel)
	if err != nil {
		return err
	}
	next.configured[c] = true
	if row.Disabled {
		return nil
	}
	if row.Provider == "" {
		return errors.New("the provider's name is missing")
	}
	p := next.providers[c][row.Provider]
	if p == nil {
		if p, err = s.provider(c, row); err != nil {
			return err
		}
		next.put(p)
	}
	if !same(p.settings, row.Settings) {
		return errors.New("another row of the same name has other settings: give it another name")
	}
	next.rules[c] = append(next.rules[c], &rule{row: row, provider: p})
	return nil
}

func (t *table) put(p *account) {
	if t.providers[p.channel] == nil {
		t.providers[p.channel] = map[string]*account{}
	}
	t.providers[p.channel][p.name] = p
}

// provider returns the present one when its settings are the same, else a new one.
func (s *Set) provider(c job.Channel, row Row) (*account, error) {
	if t := s.current.Load(); t != nil {
		if old := t.providers[c][row.Provider]; old != nil && same(old.settings, row.Settings) {
			return old, nil
		}
	}
	rate, rest, err := rateOf(row.Settings)
	if err != nil {
		return nil, err
	}
	sender, err := s.cfg.Factory(c, row.Provider, rest)
	if err != nil {
		return nil, err
	}
	p := s.build(c, row.Provider, row.Settings, sender)
	p.rate = rate
	return p, nil
}

// rateOf takes rate_per_second, which every kind of provider may have, out of the settings.
func rateOf(settings json.RawMessage) (perSecond float64, rest json.RawMessage, err error) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(settings, &members) // what is wrong with them the kind says
	if members["rate_per_second"] == nil {
		return 0, settings, nil
	}
	if err := json.Unmarshal(members["rate_per_second"], &perSecond); err != nil || perSecond <= 0 {
		return 0, nil, errors.New("rate_per_second must be a number above 0, such as 20 or 0.5")
	}
	delete(members, "rate_per_second")
	rest, err = json.Marshal(members)
	return perSecond, rest, err
}

// complete gives the fallback to the channels without rows.
func (s *Set) complete(next *table) *table {
	if s.cfg.Fallback == nil {
		return next
	}
	for _, c := range Channels() {
		if next.configured[c] {
			continue
		}
		p := s.build(c, s.cfg.Fallback.Name, json.RawMessage("null"), s.cfg.Fallback.Sender)
		next.put(p)
		next.rules[c] = []*rule{{provider: p}}
	}
	return next
}

// Known reports whether config.provider may hold name in a task of channel c. Before the rows are known every
// name may be one.
func (s *Set) Known(c job.Channel, name string) bool {
	t := s.current.Load()
	return t == nil || t.providers[c][name] != nil
}

// Serves reports whether channel c has a provider at all; before the rows are known it may have.
func (s *Set) Serves(c job.Channel) bool {
	t := s.current.Load()
	return t == nil || len(t.rules[c]) > 0
}

// Loaded reports whether the rows are known.
func (s *Set) Loaded() bool { return s.current.Load() != nil }

// Handler returns the handler of channel c.
func (s *Set) Handler(c job.Channel) worker.Handler { return &router{set: s, channel: c} }
