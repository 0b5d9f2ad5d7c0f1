package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

// fake is a sender that records its calls. The test sets its result.
type fake struct {
	name string
	paid bool
	say  func() (job.Result, error)
	all  *calls
}

type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, name)
}

func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

func (f *fake) Paid() bool { return f.paid }
func (f *fake) Handle(context.Context, worker.Delivery) (job.Result, error) {
	f.all.add(f.name)
	if f.say == nil {
		return job.Result{Sent: true}, nil
	}
	return f.say()
}

// counter is an Observer that counts events.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) note(key string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[key] += n
}

func (c *counter) Configured(ch job.Channel, name string)      { c.note(ch.String()+"/"+name, 1) }
func (c *counter) Attempt(_ job.Channel, name, outcome string) { c.note(name+"/"+outcome, 1) }
func (c *counter) Paused(_ job.Channel, name string, open bool) {
	c.note(fmt.Sprintf("%s paused %t", name, open), 1)
}

func (c *counter) Out(_, name string, out bool) {
	c.note(fmt.Sprintf("%s out %t", name, out), 1)
}

// fixture is a Set with a fake sender per provider name.
type fixture struct {
	queue  *enginetest.Model
	set    *Set
	calls  *calls
	seen   *counter
	says   map[string]func() (job.Result, error)
	paid   map[string]bool
	broken map[string]bool
}

func newFixture(fallback bool) *fixture {
	b := &fixture{calls: &calls{}, seen: &counter{counts: map[string]int{}}, says: map[string]func() (job.Result, error){}, paid: map[string]bool{}, broken: map[string]bool{}}
	cfg := Config{Observer: b.seen, Log: slog.New(slog.DiscardHandler), Factory: func(_ job.Channel, name string, _ json.RawMessage) (Sender, error) {
		if b.broken[name] {
			return nil, errors.New("host is missing")
		}
		return &fake{name: name, paid: b.paid[name], say: b.says[name], all: b.calls}, nil
	}}
	b.queue = workertest.NewQueue()
	cfg.Circuits = circuit.New(b.queue)
	if fallback {
		cfg.Fallback = "outbox"
	}
	b.set = NewSet(cfg)
	return b
}

func (b *fixture) use(t *testing.T, rows ...Row) {
	t.Helper()
	for i := range rows {
		rows[i].ID = int64(i + 1)
		if rows[i].Channel == "" {
			rows[i].Channel = "sms"
		}
		if rows[i].Settings == nil {
			rows[i].Settings = json.RawMessage(`{}`)
		}
	}
	b.set.Replace(t.Context(), rows)
}

func (b *fixture) send(t *testing.T, taskType int, data string) error {
	t.Helper()
	_, err := b.set.Handler(job.SMS).Handle(t.Context(), worker.Delivery{Body: &job.Body{Task: 1, TaskType: taskType, Data: []byte(data)}})
	return err
}

func says(err error) func() (job.Result, error) {
	return func() (job.Result, error) { return job.Result{}, err }
}

const india = `{"contact":9812345678,"countryCode":91}`

func TestRowsAreChosenBySubTypeAndCountryInOrderOfPosition(t *testing.T) {
	t.Parallel()
	b := newFixture(true)
	for _, name := range []string{"india", "otp", "world", "last"} {
		b.says[name] = says(job.Retryable("down", "down"))
	}
	b.use(t, Row{Provider: "last", Position: 9}, Row{Provider: "world", Position: 1}, Row{Provider: "india", CountryCode: 91, Position: 1},
		Row{Provider: "otp", TaskType: 1, Position: 0}, Row{Provider: "india", TaskType: 1, Position: 5}, Row{Provider: "off", Disabled: true})
	for _, c := range []struct {
		name     string
		taskType int
		data     string
		want     []string
	}{
		{"OTP to India", 1, india, []string{"otp", "india", "world", "last"}},
		{"campaign to India", 6, india, []string{"india", "world", "last"}},
		{"campaign to India, no country code", 6, `{"contact":"00919812345678"}`, []string{"india", "world", "last"}},
		{"campaign failover", 6, `{"contact":2025550123,"countryCode":1}`, []string{"world", "last"}},
		{"forced", 6, `{"contact":9812345678,"countryCode":91,"config":{"provider":"last"}}`, []string{"last"}},
		{"forced though no row of its matches", 6, `{"contact":2025550123,"countryCode":1,"config":{"provider":"india"}}`, []string{"india"}},
		{"forced and gone", 6, `{"contact":9812345678,"countryCode":91,"config":{"provider":"off"}}`, nil},
	} {
		err := b.send(t, c.taskType, c.data)
		if diff := cmp.Diff(c.want, b.calls.take()); diff != "" || err == nil {
			t.Errorf("%s: %s (%v)", c.name, diff, err)
		}
	}
}

func TestOtherChannelsAreChosenBySubTypeAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	b.use(t, Row{Channel: "email", Provider: "reports", TaskType: 2}, Row{Channel: "email", Provider: "rest", Position: 1})
	for taskType, want := range map[int]string{1: "rest", 2: "reports"} {
		data := `{"to":["a@b.org"],"contact":"front desk","config":{"provider":"x"}}`
		_, err := b.set.Handler(job.Email).Handle(t.Context(), worker.Delivery{Body: &job.Body{Task: 2, TaskType: taskType, Data: []byte(data)}})
		if got := b.calls.take(); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("sub-type %d: %v, %v", taskType, got, err)
		}
	}
}

func TestTheNextProviderTakesOverUnlessTheMessagesFateIsDecided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		a, b      func() (job.Result, error)
		asked     []string
		permanent bool
		doubtful  bool
		sent      bool
	}{
		{name: "sent", asked: []string{"a"}, sent: true},
		{name: "retryable, then sent", a: says(job.Retryable("x", "x")), asked: []string{"a", "b"}, sent: true},
		{name: "the provider's own fault, then sent", a: says(provider.FailOver("x", "x")), asked: []string{"a", "b"}, sent: true},
		{name: "the message's fault", a: says(job.Permanent("x", "x")), asked: []string{"a"}, permanent: true},
		{name: "doubt", a: says(job.Doubt("x", "x")), asked: []string{"a"}, doubtful: true},
		{name: "postponed", a: says(job.Postpone("x", time.Second)), asked: []string{"a"}},
		{name: "partly sent", a: func() (job.Result, error) { return job.Result{Sent: true}, job.Retryable("x", "x") }, asked: []string{"a"}},
		{name: "an unclassified error counts as retryable", a: says(errors.New("x")), asked: []string{"a", "b"}, sent: true},
		{name: "both have their faults", a: says(provider.FailOver("x", "x")), b: says(provider.FailOver("y", "y")), asked: []string{"a", "b"}, permanent: true},
		{name: "one may recover", a: says(job.Retryable("x", "x")), b: says(provider.FailOver("y", "y")), asked: []string{"a", "b"}},
		{name: "the other may recover", a: says(provider.FailOver("x", "x")), b: says(job.Retryable("y", "y")), asked: []string{"a", "b"}},
		{name: "then the message's fault", a: says(job.Retryable("x", "x")), b: says(job.Permanent("y", "y")), asked: []string{"a", "b"}, permanent: true},
	} {
		b := newFixture(false)
		b.says["a"], b.says["b"] = c.a, c.b
		b.use(t, Row{Provider: "a"}, Row{Provider: "b", Position: 1})
		err := b.send(t, 1, india)
		if diff := cmp.Diff(c.asked, b.calls.take()); diff != "" {
			t.Errorf("%s: asked %s", c.name, diff)
		}
		if (err == nil) != c.sent {
			t.Errorf("%s: %v", c.name, err)
		}
		if f := job.AsFailure(err); err != nil && (f.Permanent != c.permanent || f.Doubtful != c.doubtful) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestTheShortestWaitOfAllProvidersCounts(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	b.says["a"] = says(job.Retryable("x", "x").After(time.Minute))
	b.says["b"] = says(job.Retryable("x", "x").After(time.Second))
	b.use(t, Row{Provider: "a"}, Row{Provider: "b", Position: 1})
	if f := job.AsFailure(b.send(t, 1, india)); f.RetryAfter != time.Second {
		t.Errorf("waits %s", f.RetryAfter)
	}
}

func TestAPaidSendIsMarkedFirstAndNotMadeWhenItCannotBe(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	b.paid["a"], b.paid["b"] = true, true
	b.use(t, Row{Provider: "a"}, Row{Provider: "b", Position: 1})
	p := b.set.known().named(job.SMS, "a")
	p.intend = func(worker.Delivery, context.Context, string) error { return job.Postpone("lease_lost", 0) }
	for range 2 * breakerFailures {
		if err := b.send(t, 1, india); err == nil || len(b.calls.take()) != 0 {
			t.Fatalf("sent without a mark: %v", err)
		}
	}
	p.intend = func(worker.Delivery, context.Context, string) error { b.calls.add("mark"); return nil }
	if err := b.send(t, 1, india); err != nil || !slices.Equal(b.calls.take(), []string{"mark", "a"}) {
		t.Errorf("failed marks paused the provider: %v", err)
	}
}

func TestAPanicOfAPaidProviderLeavesDoubt(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	b.paid["a"] = true
	b.says["a"] = func() (job.Result, error) { panic("broken adapter") }
	b.use(t, Row{Provider: "a"}, Row{Provider: "b", Position: 1})
	if f := job.AsFailure(b.send(t, 1, india)); !f.Doubtful || !slices.Equal(b.calls.take(), []string{"a"}) {
		t.Errorf("%+v", f)
	}
}

func TestAProviderThatKeepsFailingIsPausedAndTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(false)
		down := job.Retryable("down", "down")
		b.says["a"] = func() (job.Result, error) {
			if down != nil {
				return job.Result{}, down
			}
			return job.Result{Sent: true}, nil
		}
		b.use(t, Row{Provider: "a"}, Row{Provider: "b", Position: 1})
		for range breakerFailures {
			if err := b.send(t, 1, india); err != nil {
				t.Fatal(err)
			}
		}
		b.calls.take()
		if err := b.send(t, 1, india); err != nil || !slices.Equal(b.calls.take(), []string{"b"}) {
			t.Errorf("a paused provider was asked: %v", err)
		}
		if f := job.AsFailure(b.send(t, 1, `{"contact":9812345678,"countryCode":91,"config":{"provider":"a"}}`)); !f.Recovers || f.RetryAfter != circuit.Open {
			t.Errorf("forced and paused: %+v", f)
		}
		down = nil
		time.Sleep(circuit.Open + time.Second) // virtual time
		if err := b.send(t, 1, india); err != nil || !slices.Equal(b.calls.take(), []string{"b", "a"}[1:]) {
			t.Errorf("not tried again: %v", err)
		}
		want := map[string]int{"sms/a": 1, "sms/b": 1, "a/retry": 5, "b/sent": 6, "a/paused": 2, "a/sent": 1}
		if diff := cmp.Diff(want, b.seen.counts); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFaultsOfMessagesAndLimitsOfRecipientsDoNotPauseAProvider(t *testing.T) {
	t.Parallel()
	for _, err := range []error{job.Permanent("x", "x"), provider.LimitedOne("x", 0), job.Postpone("x", 1),
		&job.Failure{Reason: "smtp_4xx", OfMessage: true},
		&job.Failure{Reason: "smtp_5xx", Permanent: true, Elsewhere: true, OfMessage: true}} {
		b := newFixture(false)
		b.says["a"] = says(err)
		b.use(t, Row{Provider: "a"})
		for range 2 * breakerFailures {
			if got := b.send(t, 1, india); got == nil {
				t.Fatal("sent")
			}
		}
		if n := len(b.calls.take()); n != 2*breakerFailures {
			t.Errorf("%v: asked %d times", err, n)
		}
	}
}

// TestACallThatOnlyThisProcessStoppedDoesNotPauseAProvider distinguishes two calls that end with the same error: this
// process is stopping, or a mail server does not answer at all and the sender's own limit has cancelled the call. Only
// the second is a failure of the provider: while it is paused, messages wait instead of using up their retries.
func TestACallThatOnlyThisProcessStoppedDoesNotPauseAProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop bool
		want int // calls of the provider
	}{"stopped": {true, 2 * breakerFailures}, "not answered": {false, breakerFailures}} {
		b := newFixture(false)
		b.says["a"] = says(job.Retryable("connection", "x").WithCause(context.Canceled))
		b.use(t, Row{Provider: "a"})
		ctx, stop := context.WithCancel(t.Context())
		if c.stop {
			stop()
		}
		for range 2 * breakerFailures {
			_, err := b.set.Handler(job.SMS).Handle(ctx, worker.Delivery{Body: &job.Body{Task: 1, TaskType: 1, Data: []byte(india)}})
			if err == nil {
				t.Error("sent")
			}
		}
		stop()
		if n := len(b.calls.take()); n != c.want {
			t.Errorf("%s: asked %d times, want %d", name, n, c.want)
		}
	}
}

func TestChannelsWithoutRowsHaveTheFallback(t *testing.T) {
	t.Parallel()
	b := newFixture(true)
	for range 2 {
		b.use(t, Row{Provider: "a", CountryCode: 91}, Row{Channel: "email", Provider: "smtp", Disabled: true})
	}
	if want := map[string]int{"sms/a": 1, "push/outbox": 1, "whatsapp/outbox": 1}; !maps.Equal(b.seen.counts, want) {
		t.Errorf("configured %v, want %v", b.seen.counts, want)
	}
	for _, c := range []struct {
		channel       job.Channel
		name          string
		known, serves bool
	}{
		{job.SMS, "a", true, true}, {job.SMS, "outbox", false, true}, {job.Push, "outbox", true, true}, {job.Push, "a", false, true},
		{job.Email, "smtp", false, false}, {job.Email, "outbox", false, false}, {job.Webhook, "outbox", false, false},
	} {
		if b.set.Known(c.channel, c.name) != c.known || b.set.Serves(c.channel, 1) != c.serves {
			t.Errorf("%s %s: known %t, serves %t", c.channel, c.name, b.set.Known(c.channel, c.name), b.set.Serves(c.channel, 1))
		}
	}
	err := b.send(t, 1, `{"contact":2025550123,"countryCode":1}`)
	if f := job.AsFailure(err); f.Reason != "no_provider" || len(b.calls.take()) != 0 {
		t.Errorf("a country without a row: %v", err)
	}
}

func TestMessagesWaitWhileTheRowsAreUnknownOrTheChannelHasNone(t *testing.T) {
	t.Parallel()
	b := newFixture(true)
	if !b.set.Serves(job.SMS, 1) || !b.set.Known(job.SMS, "any") || b.set.known() != nil {
		t.Error("tasks are refused although the rows are not known yet")
	}
	f := job.AsFailure(b.send(t, 1, india))
	if !f.Postponed || len(b.calls.take()) != 0 || f.RetryAfter > 5*time.Second {
		t.Errorf("rows unknown, as after a start without the database: %+v", f)
	}
	b.use(t)
	if err := b.send(t, 1, india); err != nil || !slices.Equal(b.calls.take(), []string{"outbox"}) || b.set.known() == nil {
		t.Errorf("no rows: %v", err)
	}
	none := newFixture(false)
	none.use(t, Row{Provider: "a", Disabled: true})
	if f := job.AsFailure(none.send(t, 1, india)); !f.Postponed || none.set.Serves(job.SMS, 1) {
		t.Errorf("no provider: %+v", f)
	}
}

// TestAWrongRowIsOutAloneAndItsMessagesWait checks that an invalid row affects only itself: messages served by other
// rows are sent, and its own messages wait and are not lost.
func TestAWrongRowIsOutAloneAndItsMessagesWait(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	b.broken["bad"] = true
	rows := []Row{{Provider: "good", CountryCode: 1}, {Provider: "bad"}, {Channel: "fax", Provider: "x"}, {Provider: ""},
		{Provider: "good", CountryCode: 1, Settings: json.RawMessage(`{"x":2}`)}, {Channel: "email", Provider: "mail"}}
	b.use(t, rows...)
	var states []string
	for _, r := range b.set.Rows() {
		states = append(states, r.Channel+" "+r.Provider+": "+r.Out)
	}
	want := []string{"sms good: ", "sms bad: host is missing", `fax x: channel "fax" has no providers: use sms, email, push or whatsapp`,
		"sms : the provider's name is missing", "sms good: another row of the same name has other settings: give it another name", "email mail: "}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if err := b.send(t, 1, `{"contact":2025550123,"countryCode":1}`); err != nil {
		t.Errorf("the row that is right: %v", err)
	}
	for _, data := range []string{india, `{"contact":9812345678,"countryCode":91,"config":{"provider":"bad"}}`} {
		if f := job.AsFailure(b.send(t, 1, data)); !f.Postponed || f.Recovers || f.Reason != "provider_out" || f.To != job.Out(job.SMS, "bad") {
			t.Errorf("%s: %+v, want it to wait", data, f)
		}
	}
	if !b.set.Known(job.SMS, "bad") || !b.set.Serves(job.SMS, 1) || b.seen.counts["bad out true"] != 1 {
		t.Errorf("the row that is out is not known, or not counted: %v", b.seen.counts)
	}
	if h, err := b.queue.Holds(t.Context()); err != nil || h.Held[job.Out(job.SMS, "bad")].UntilMs == 0 {
		t.Errorf("waiting messages are not held: %+v, %v", h, err)
	}
	b.broken["bad"] = false // its secret now exists
	b.use(t, rows...)
	if err := b.send(t, 1, india); err != nil || b.seen.counts["bad out false"] != 1 {
		t.Errorf("after the correction: %v, %v", err, b.seen.counts)
	}
	if h, err := b.queue.Holds(t.Context()); err != nil || len(h.Held) != 2 { // rows of two channels are still invalid
		t.Errorf("held after the correction: %+v, %v", h, err)
	}
	b.broken["good"] = true // its secret was removed; the row is unchanged
	b.use(t, Row{Provider: "good", CountryCode: 1})
	if f := job.AsFailure(b.send(t, 1, `{"contact":2025550123,"countryCode":1}`)); f.Reason != "provider_out" {
		t.Errorf("without its secret: %+v", f)
	}
}

func TestProvidersWhoseSettingsStayKeepTheirState(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	b.use(t, Row{Provider: "a", Settings: json.RawMessage(`{"x":1,"y":2}`)})
	b.use(t, Row{Provider: "a", Settings: json.RawMessage(`{ "y": 2, "x": 1 }`), Position: 3})
	if n := b.seen.counts["sms/a"]; n != 1 {
		t.Errorf("configured %d times, want 1", n)
	}
	b.use(t, Row{Provider: "a", Settings: json.RawMessage(`{"x":2}`)})
	if n := b.seen.counts["sms/a"]; n != 2 {
		t.Errorf("configured %d times, want 2", n)
	}
}

// TestTasksAreServedByARowOfTheirSubType checks that a message whose sub-type no row serves is rejected, because it
// would fail, and that a message that a row serves after its correction is accepted and waits.
func TestTasksAreServedByARowOfTheirSubType(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	if got := b.set.Unserved(job.Push, 1); got != "" {
		t.Errorf("rows unknown: unserved = %q, want nothing said", got)
	}
	b.broken["bad"] = true
	b.use(t, Row{Channel: "push", Provider: "a", TaskType: 2}, Row{Channel: "push", Provider: "bad", TaskType: 3},
		Row{Channel: "email", Provider: "b", Disabled: true}, Row{Channel: "sms", Provider: "c", TaskType: 2})
	for _, c := range []struct {
		channel  job.Channel
		taskType int
		want     Unserved
	}{
		{job.Push, 1, NoProvider}, {job.Push, 2, ""}, {job.Push, 3, ProviderOut}, {job.Email, 1, NoProvider},
		{job.SMS, 1, ""}, // the task may name its provider
	} {
		got := b.set.Unserved(c.channel, c.taskType)
		if got != c.want || b.set.Serves(c.channel, c.taskType) != (c.want != NoProvider) {
			t.Errorf("%s of type %d: unserved = %q, want %q", c.channel, c.taskType, got, c.want)
		}
	}
	_, err := b.set.Handler(job.Push).Handle(t.Context(), worker.Delivery{Body: &job.Body{Task: 3, TaskType: 1, Data: []byte(`{}`)}})
	if f := job.AsFailure(err); !f.Postponed || f.Reason != "no_provider" {
		t.Errorf("a push whose row was taken away: %+v, want it to wait", f)
	}
}
