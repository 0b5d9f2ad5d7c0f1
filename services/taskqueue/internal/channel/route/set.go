package route

import (
	"context"
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
	// Configured reports that a provider exists: its series start at zero.
	Configured(c job.Channel, provider string)
	Attempt(c job.Channel, provider, outcome string)
	// Paused reports whether the provider is left alone.
	Paused(c job.Channel, provider string, paused bool)
}

// Source reads the configuration, disabled rows included.
type Source interface {
	Providers(ctx context.Context) ([]Row, error)
}

// Config wires a set.
type Config struct {
	Factory  Factory
	Fallback string // the provider of channels without rows; empty: they are not served
	Observer Observer
	Log      *slog.Logger
	Pacer    *pace.Pacer // nil: rows that name a rate get as many as come
	Circuits *circuit.Circuits
}

// Set is the providers of all channels. Safe for concurrent use.
type Set struct {
	cfg Config

	replace sync.Mutex            // one replacement at a time
	current atomic.Pointer[table] // nil until the first Replace
}

// NewSet makes a set that knows no rows yet: messages wait, so that none goes to the fallback by mistake.
// Replace gives it rows, perhaps none.
func NewSet(cfg Config) *Set { return &Set{cfg: cfg} }

// known is the configuration of the moment, nil before the first one.
func (s *Set) known() table {
	if t := s.current.Load(); t != nil {
		return *t
	}
	return nil
}

// Report tells the observer which providers are left alone.
func (s *Set) Report() {
	for c, rules := range s.known() {
		for _, r := range rules {
			s.cfg.Observer.Paused(c, r.account.name, s.cfg.Circuits.Holds(r.account.to))
		}
	}
}

// Load reads the rows once and takes them. An error leaves the set as it is; rows that were refused are tried again the
// next time, because a secret that they name may have come.
func (s *Set) Load(ctx context.Context, source Source) error {
	rows, err := source.Providers(ctx)
	if err != nil {
		return fmt.Errorf("read the providers: %w", err)
	}
	return s.Replace(rows)
}

// Replace takes all rows of the configuration. Providers whose settings did not change keep their state. When
// any row is wrong nothing changes, and the error names every wrong row.
func (s *Set) Replace(rows []Row) error {
	s.replace.Lock()
	defer s.replace.Unlock()
	next := table{}
	var problems []error
	take := func(row Row) {
		if err := s.add(next, row); err != nil {
			problems = append(problems, fmt.Errorf("tq_provider row %d (%s, %s): %w", row.ID, row.Channel, row.Provider, err))
		}
	}
	for _, row := range rows {
		take(row)
	}
	for _, c := range Channels() {
		if next[c] == nil && s.cfg.Fallback != "" {
			take(Row{Channel: c.String(), Provider: s.cfg.Fallback, Settings: json.RawMessage("{}")})
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for _, rules := range next {
		slices.SortFunc(rules, order)
	}
	s.current.Store(&next)
	return nil
}

func (s *Set) add(next table, row Row) error {
	c, err := channelOf(row.Channel)
	if err != nil {
		return err
	}
	if next[c] == nil {
		next[c] = []*rule{}
	}
	if row.Disabled {
		return nil
	}
	if row.Provider == "" {
		return errors.New("the provider's name is missing")
	}
	p := next.named(c, row.Provider)
	if p != nil && !same(p.settings, row.Settings) {
		return errors.New("another row of the same name has other settings: give it another name")
	}
	if p == nil {
		if p, err = s.account(c, row); err != nil {
			return err
		}
	}
	next[c] = append(next[c], &rule{row: row, account: p})
	return nil
}

// account returns the present one when its settings are the same, else a new one.
func (s *Set) account(c job.Channel, row Row) (*account, error) {
	if old := s.known().named(c, row.Provider); old != nil && same(old.settings, row.Settings) {
		return old, nil
	}
	rate, err := rateOf(row.Settings)
	if err != nil {
		return nil, err
	}
	sender, err := s.cfg.Factory(c, row.Provider, row.Settings)
	if err != nil {
		return nil, err
	}
	s.cfg.Observer.Configured(c, row.Provider)
	return &account{
		Config:   &s.cfg,
		channel:  c,
		name:     row.Provider,
		settings: row.Settings,
		sender:   sender,
		rate:     rate,
		to:       job.Via(c, row.Provider),
		intend:   worker.Delivery.Intend,
	}, nil
}

// rateOf reads rate_per_second, which every kind of provider may have; 0 when there is none.
func rateOf(settings json.RawMessage) (float64, error) {
	var s struct {
		PerSecond json.RawMessage `json:"rate_per_second"`
	}
	_ = json.Unmarshal(settings, &s) // what is wrong with them the kind says
	if s.PerSecond == nil {
		return 0, nil
	}
	var rate float64
	if err := json.Unmarshal(s.PerSecond, &rate); err != nil || rate <= 0 {
		return 0, errors.New("rate_per_second must be a number above 0, such as 20 or 0.5")
	}
	return rate, nil
}

// Known reports whether config.provider may hold name in a task of channel c. Before the rows are known every
// name may be one.
func (s *Set) Known(c job.Channel, name string) bool {
	t := s.known()
	return t == nil || t.named(c, name) != nil
}

// Serves reports whether channel c has a provider at all; before the rows are known it may have.
func (s *Set) Serves(c job.Channel) bool {
	t := s.known()
	return t == nil || len(t[c]) > 0
}

// Handler returns the handler of channel c.
func (s *Set) Handler(c job.Channel) worker.Handler { return &router{set: s, channel: c} }
