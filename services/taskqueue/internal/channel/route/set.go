package route

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Sender delivers messages through one account of one provider. It is safe for concurrent use.
type Sender interface {
	worker.Handler
	// Paid reports whether a send costs money or must not be repeated. Such a send is marked as begun before it is made.
	Paid() bool
}

// Factory creates the sender of a row. Its error states what is wrong with the settings.
type Factory func(c job.Channel, name string, settings json.RawMessage) (Sender, error)

// Observer counts attempts by outcome and receives the states of providers. It must not block.
type Observer interface {
	// Configured reports a provider that is new or has new settings. New series start at zero.
	Configured(c job.Channel, provider string)
	Attempt(c job.Channel, provider, outcome string)
	// Paused reports whether the provider is paused.
	Paused(c job.Channel, provider string, paused bool)
	// Out reports whether a row of the provider is invalid.
	Out(channel, provider string, out bool)
}

// Source reads the configuration, including disabled rows.
type Source interface {
	Providers(ctx context.Context) ([]Row, error)
}

// Config holds the dependencies of a Set.
type Config struct {
	Factory  Factory
	Fallback string // provider of channels without rows; empty: tasks of such channels are rejected
	Observer Observer
	Log      *slog.Logger
	Pacer    *pace.Pacer // nil: rates in rows are ignored
	Circuits *circuit.Circuits
}

// Set holds the providers of all channels. It is safe for concurrent use.
type Set struct {
	cfg Config

	replace sync.Mutex            // serializes Replace
	current atomic.Pointer[table] // nil until the first Replace
	states  atomic.Pointer[[]RowState]
}

// NewSet returns a set without a configuration. Until the first Replace, messages wait, so that none is sent by the
// fallback by mistake.
func NewSet(cfg Config) *Set { return &Set{cfg: cfg} }

// known returns the current configuration; nil before the first one.
func (s *Set) known() table {
	if t := s.current.Load(); t != nil {
		return *t
	}
	return nil
}

// Report passes to the observer whether each provider is paused.
func (s *Set) Report() {
	for c, rules := range s.known() {
		for _, r := range rules {
			if r.account != nil {
				s.cfg.Observer.Paused(c, r.account.name, s.cfg.Circuits.Holds(r.account.to))
			}
		}
	}
}

// Load reads and applies the rows. On an error, the set keeps its configuration. Invalid rows are checked again each
// time, because a missing secret may exist now.
func (s *Set) Load(ctx context.Context, source Source) error {
	rows, err := source.Providers(ctx)
	if err != nil {
		return fmt.Errorf("read the providers: %w", err)
	}
	s.Replace(ctx, rows)
	return nil
}

// Replace applies a complete configuration. An invalid row affects only itself: its messages use the next row that
// serves them, or wait. Providers with unchanged settings keep their state.
func (s *Set) Replace(ctx context.Context, rows []Row) {
	s.replace.Lock()
	defer s.replace.Unlock()
	next, states := s.build(rows)
	before, earlier := s.known(), s.Rows()
	s.current.Store(&next)
	s.states.Store(&states)
	s.configured(before, next)
	s.logChanges(earlier, states)
	s.logWithout(before, next)
	s.tell(ctx, earlier, states)
}

// logChanges logs each row that became invalid or valid.
func (s *Set) logChanges(before, now []RowState) {
	known := map[int64]string{}
	for _, one := range before {
		known[one.ID] = one.Out
	}
	for _, one := range now {
		log := s.cfg.Log.With("row", one.ID, "channel", one.Channel, "provider", one.Provider)
		switch one.Out {
		case known[one.ID]:
		case "":
			log.Info("a row of tq_provider is in force again")
		default:
			log.Error("a row of tq_provider is out: its messages go to the next row or wait", "problem", one.Out)
		}
	}
}

// logWithout logs the channels without a provider if they have changed.
func (s *Set) logWithout(before, now table) {
	list := now.without()
	switch {
	case before != nil && slices.Equal(before.without(), list):
	case len(list) > 0:
		s.cfg.Log.Warn("channels have no provider: their tasks are refused until tq_provider has a row", "channels", list)
	case before != nil:
		s.cfg.Log.Info("every channel has a provider")
	}
}

// Rows returns all rows with their errors by id, followed by the fallback for the channels that it serves.
func (s *Set) Rows() []RowState {
	if list := s.states.Load(); list != nil {
		return *list
	}
	return nil
}

// Check returns the rows with the errors that a set with this configuration would report.
func Check(cfg Config, rows []Row) []RowState {
	_, states := NewSet(cfg).build(rows)
	return states
}

func (s *Set) build(rows []Row) (next table, states []RowState) {
	next = table{}
	take := func(row Row) {
		one := RowState{Row: row}
		if err := s.add(next, row); err != nil {
			one.Out = err.Error()
		}
		states = append(states, one)
	}
	for _, row := range rows {
		take(row)
	}
	for _, c := range Channels() {
		if next[c] == nil && s.cfg.Fallback != "" {
			take(Row{Channel: c.String(), Provider: s.cfg.Fallback, Settings: json.RawMessage("{}")})
		}
	}
	for _, rules := range next {
		slices.SortFunc(rules, order)
	}
	return next, states
}

// add adds a row to the table of its channel, and returns an error if the row is invalid.
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
	p, err := s.accountOf(next, c, row)
	next[c] = append(next[c], &rule{row: row, account: p})
	return err
}

func (s *Set) accountOf(next table, c job.Channel, row Row) (*account, error) {
	if row.Provider == "" {
		return nil, errors.New("the provider's name is missing")
	}
	if p := next.named(c, row.Provider); p != nil {
		if !same(p.settings, row.Settings) {
			return nil, errors.New("another row of the same name has other settings: give it another name")
		}
		return p, nil
	}
	rate, err := rateOf(row.Settings)
	if err != nil {
		return nil, err
	}
	sender, err := s.cfg.Factory(c, row.Provider, row.Settings) // even if unchanged, because a secret may be missing now
	if err != nil {
		return nil, err
	}
	if old := s.known().named(c, row.Provider); old != nil && same(old.settings, row.Settings) {
		return old, nil
	}
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

// holdOut is the pause of messages whose row is invalid. Each read of the rows extends it; a corrected row ends it.
const holdOut = 2 * time.Minute

// tell reports invalid rows to the metrics and pauses the messages that wait for them.
func (s *Set) tell(ctx context.Context, before, now []RowState) {
	is := outOf(now)
	for one := range is {
		s.tellOne(ctx, one, holdOut)
	}
	for one := range outOf(before) {
		if !is[one] {
			s.tellOne(ctx, one, 0)
		}
	}
}

func (s *Set) tellOne(ctx context.Context, one named, hold time.Duration) {
	s.cfg.Observer.Out(one.channel, one.provider, hold > 0)
	if c, err := channelOf(one.channel); err == nil {
		s.cfg.Circuits.Wait(ctx, job.Out(c, one.provider), hold)
	}
}

// unnamed is the provider name for rows without one.
const unnamed = "unnamed"

// named identifies a provider of a channel.
type named struct{ channel, provider string }

// outOf returns the providers of invalid rows.
func outOf(rows []RowState) map[named]bool {
	list := map[named]bool{}
	for _, r := range rows {
		if r.Out != "" {
			list[named{r.Channel, cmp.Or(r.Provider, unnamed)}] = true
		}
	}
	return list
}

// configured reports new providers to the observer.
func (s *Set) configured(before, now table) {
	for c, rules := range now {
		for _, r := range rules {
			if r.account != nil && before.named(c, r.row.Provider) != r.account {
				s.cfg.Observer.Configured(c, r.row.Provider)
			}
		}
	}
}

// rateOf reads rate_per_second, which is allowed in the settings of every kind; 0 if it is missing.
func rateOf(settings json.RawMessage) (float64, error) {
	var s struct {
		PerSecond json.RawMessage `json:"rate_per_second"`
	}
	_ = json.Unmarshal(settings, &s) // the kind reports invalid settings
	if s.PerSecond == nil {
		return 0, nil
	}
	var rate float64
	if err := json.Unmarshal(s.PerSecond, &rate); err != nil || rate <= 0 {
		return 0, errors.New("rate_per_second must be a number above 0, such as 20 or 0.5")
	}
	return rate, nil
}

// Known reports whether name may be the config.provider of a task of channel c. It returns true while the rows are
// unknown.
func (s *Set) Known(c job.Channel, name string) bool {
	t := s.known()
	return t == nil || slices.ContainsFunc(t[c], func(r *rule) bool { return r.row.Provider == name })
}

// Unserved is the reason why tasks are not delivered; empty if they are.
type Unserved string

// Reasons why tasks are not delivered.
const (
	NoProvider  Unserved = "no_provider"  // no row serves them
	ProviderOut Unserved = "provider_out" // only invalid rows serve them
)

// Unserved returns why tasks of channel c and a sub-type are not delivered; empty while the rows are unknown. Tasks of
// a channel with phone numbers may name their provider, so their sub-type is ignored.
func (s *Set) Unserved(c job.Channel, taskType int) Unserved {
	t := s.known()
	if t == nil {
		return ""
	}
	if c == job.SMS || c == job.WhatsApp {
		taskType = 0
	}
	switch served, out := t.serves(c, taskType); {
	case served:
		return ""
	case out:
		return ProviderOut
	}
	return NoProvider
}

// Serves reports whether a task is accepted: a row serves it, or will after its correction.
func (s *Set) Serves(c job.Channel, taskType int) bool { return s.Unserved(c, taskType) != NoProvider }

// Handler returns the handler of channel c.
func (s *Set) Handler(c job.Channel) worker.Handler { return &router{set: s, channel: c} }
