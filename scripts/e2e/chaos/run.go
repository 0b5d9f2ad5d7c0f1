package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/devstack/day"
)

// options are the settings of a run: which faults, and for how long.
type options struct {
	minutes float64
	seed    uint64
	faults  string
	// patients of earlier days; above 0 the run has no faults and measures growth
	patients int
	// quiet watches an idle platform: a process that reports itself dead, an alert or growth is a violation.
	quiet  bool
	charts string // the folder of the charts, whose alerts are evaluated when quiet is set
	out    io.Writer
	living func(*run) // called once the simulation runs, before the first fault; may be nil
}

const (
	pace   = 60               // simulated minutes per minute
	warmUp = 15 * time.Second // time before the first fault
	rest   = 6 * time.Second  // after each recovery
	// critical is the share of patients with a critical value. It is higher than in reality, so that faults meet many of
	// them.
	critical = 0.2
)

// happening is a set of faults, and their consequences.
type happening struct {
	Faults   []fault
	Recovery time.Duration
	Last     string      // the probe that succeeded last
	Refusals map[int]int // by status
}

type run struct {
	options
	*platform
	begin    time.Time
	commit   string // commit of the running code
	people   *people
	answers  *answers
	check    *checker
	happened []happening
	before   []vitals
	after    []vitals
	tally    day.Tally
	revived  []string // processes that ended by themselves in the current recovery
	soak     soak
	watch    watch

	mu     sync.Mutex
	broken []fault   // guarded by mu
	spans  []span    // times without a fault, the last one open; guarded by mu
	clocks time.Time // when a clock was last set; guarded by mu
}

// span is a time without a fault.
type span struct{ from, to time.Time }

// perform executes a whole run.
func perform(ctx context.Context, o options) (*run, error) {
	r := &run{options: o, commit: commit()}
	fmt.Fprintln(o.out, "starting a platform")
	var err error
	if r.platform, err = start(ctx, o); err != nil {
		return nil, err
	}
	defer r.remove()
	if err := r.prepare(); err != nil {
		return nil, err
	}
	defer r.keepLogs()
	defer r.people.receiver.Close()
	kinds, err := r.chosen(o.faults)
	if err != nil {
		return nil, err
	}
	if o.patients > 0 {
		if err := r.crowd(ctx); err != nil {
			return nil, err
		}
	}
	r.set([]fault{{class: "start", target: everything}})
	if well, took := r.recovered(ctx); took >= giveUpAfter {
		return nil, fmt.Errorf("the platform is not whole after its start: %w", well[len(well)-1].err)
	}
	r.begin = time.Now()
	r.set(nil)
	if o.quiet {
		return r, r.beQuiet(ctx)
	}
	r.live(ctx, kinds)
	return r, nil
}

// keepLogs copies the logs of a run with violations to a folder that stays.
func (r *run) keepLogs() {
	if len(r.violations()) == 0 {
		return
	}
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("chaos-logs-%d", time.Now().Unix()))
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(r.Dir, "logs"))); err != nil {
		r.say("the logs could not be kept: %v", err)
		return
	}
	r.say("the logs are kept in %s", kept)
}

// prepare opens the stores and creates the checker and the simulated users.
func (r *run) prepare() error {
	var err error
	if r.answers, err = newAnswers(r.whatIsBroken); err != nil {
		return err
	}
	kept, err := openLedger(filepath.Join(os.TempDir(), fmt.Sprintf("chaos-%d.ledger", r.seed)))
	if err != nil {
		return err
	}
	fmt.Fprintln(r.out, "the ledger is", kept.file.Name())
	r.people = &people{gateway: r.Endpoints.Gateway, client: &http.Client{Transport: r.answers, Timeout: patience},
		ledger: kept, receiver: receive(), editAt: make(chan day.Deed, 1)}
	r.check = &checker{people: r.people, quiet: r.quietSince, say: r.say}
	r.check.objects = r.objectsFolder()
	r.check.store, err = openStore(r.Endpoints.MySQLDSN)
	return err
}

// openStore opens the database directly, without a link.
func openStore(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.ReadTimeout, config.WriteTimeout = 2*time.Second, patience, patience
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// live runs the simulation, causes faults, and checks all promises at the end.
func (r *run) live(ctx context.Context, kinds []class) {
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { r.people.work(working) })
	all.Go(func() { r.playDay(working) })
	checking, stopChecking := context.WithCancel(ctx)
	var checked sync.WaitGroup
	checked.Go(func() { r.check.work(checking) })
	pauseFor(ctx, warmUp)
	r.before = r.vitals(ctx)
	if r.living != nil {
		r.living(r)
	}
	if r.patients > 0 {
		r.measure(ctx)
	} else {
		r.breakThings(ctx, kinds)
		pauseFor(ctx, warmUp)
	}
	r.after = r.vitals(ctx)
	stop()
	all.Wait()
	r.say("the laboratory closes: %+v", r.tally)
	stopChecking()
	checked.Wait()
	r.check.last(ctx)
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (r *run) breakThings(ctx context.Context, kinds []class) {
	draw := draws{rand.New(rand.NewPCG(r.seed, r.seed)), r.platform, kinds, nil, nil}
	end := r.begin.Add(time.Duration(r.minutes * float64(time.Minute)))
	for ctx.Err() == nil && time.Until(end) > 0 {
		h := r.happen(ctx, draw.next())
		r.happened = append(r.happened, h)
		r.tell(h)
		pauseFor(ctx, rest)
	}
}

// happen causes faults, ends them, and waits until the platform has recovered.
func (r *run) happen(ctx context.Context, faults []fault) happening {
	for _, f := range faults {
		if f.ready != nil {
			if err := f.ready(ctx); err != nil {
				r.check.violated("%s is not ready to begin: %v", f, err)
			}
		}
	}
	h := happening{Faults: faults}
	r.answers.take()
	r.set(faults)
	var hold time.Duration
	for _, f := range faults {
		if err := f.begin(ctx); err != nil {
			r.check.violated("%s could not begin: %v", f, err)
		}
		hold = max(hold, f.hold)
	}
	pauseFor(ctx, hold)
	for _, f := range faults {
		if err := f.end(ctx); err != nil {
			r.check.violated("%s could not end: %v", f, err)
		}
	}
	var well []recovery
	well, h.Recovery = r.recovered(ctx)
	for _, name := range r.revived {
		r.say("%s, which had ended by itself, is up again", name)
	}
	for _, one := range well {
		h.Last = one.what
		if one.err != nil {
			r.check.violated("%s: %v", faultNames(faults), one.err)
		} else if one.took > limit(faults) {
			r.check.violated("%s: %s only after %.1f s", faultNames(faults), one.what, one.took.Seconds())
		}
	}
	r.set(nil)
	if letters := r.deadLetters(ctx); letters > 0 {
		r.check.violated("%s: change capture set %.0f changes aside", faults[0], letters)
	}
	h.Refusals = r.answers.take()
	return h
}

func limit(faults []fault) time.Duration {
	full := func(f fault) bool { return f.class == "full-disk" && f.target == "mysql" }
	if slices.ContainsFunc(faults, full) {
		return recoverFromFullDatabase
	}
	return recoverWithin
}

func (r *run) set(faults []fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if len(faults) == 0 {
		r.spans = append(r.spans, span{from: now})
	} else if n := len(r.spans); n > 0 {
		r.spans[n-1].to = now
	}
	if slices.ContainsFunc(r.broken, func(f fault) bool { return f.class == "clock" }) {
		r.clocks = now
	}
	r.broken = faults
}

func (r *run) whatIsBroken() []fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// quietSince returns for how long no fault was active since a time. Promises that were open when a clock was set back
// get more time, by the error of the clock.
func (r *run) quietSince(from time.Time) (quiet time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		begin, end := s.from, s.to
		if end.IsZero() {
			end = time.Now()
		}
		if begin.Before(from) {
			begin = from
		}
		quiet += max(0, end.Sub(begin))
	}
	if r.clocks.After(from) {
		quiet -= ahead
	}
	return quiet
}

// playDay runs the simulation and writes acknowledgements into the ledger.
func (r *run) playDay(ctx context.Context) {
	log, err := os.Create(filepath.Join(r.Dir, "logs", "day.log"))
	if err != nil {
		r.check.violated("no log of the day: %v", err)
		return
	}
	defer log.Close()
	r.tally, err = day.Run(ctx, day.Config{Endpoints: r.Endpoints, Pace: pace, Seed: r.seed, Out: log, Critical: critical,
		Transport: r.answers, Token: func() (string, error) { return r.InternalToken(ctx) }, Done: r.promise})
	if err != nil {
		r.check.violated("the day: %v", err)
	}
}

// musts maps deeds of the simulation to their duties.
var musts = map[string][]string{
	day.Registered: {found}, day.Critical: {announced, answeredFor}, day.Confirmed: {replaced},
	day.Called: {recorded}, day.Sent: {delivered}, day.Split: {sum},
}

func (r *run) promise(d day.Deed) {
	for _, must := range musts[d.What] {
		r.people.ledger.promised(must, promise{Deed: d})
	}
	if d.What == day.Registered {
		select {
		case r.people.editAt <- d:
		default: // a wake-up is already pending
		}
	}
}

// judge requests an evaluation of a bill's critical results from the gateway's internal listener, as the core does.
func (r *run) judge(ctx context.Context, bill int64) error {
	token, err := r.InternalToken(ctx)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("%s/report/%d/critical/evaluate", r.Endpoints.GatewayInternal, bill)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(`{"lab_id":12}`)))
	if err != nil {
		return err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + token}, "X-Is-Internal-Request": {"True"},
		"Content-Type": {"application/json"}}
	response, err := r.people.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("judge: %s", response.Status)
	}
	return nil
}

// say prints a line with the time of the run.
func (r *run) say(format string, args ...any) {
	var at time.Duration
	if !r.begin.IsZero() {
		at = time.Since(r.begin)
	}
	fmt.Fprintf(r.out, "%02d:%02d  %s\n", int(at.Minutes()), int(at.Seconds())%60, fmt.Sprintf(format, args...))
}

// tell prints a line about a set of faults.
func (r *run) tell(h happening) {
	promises := r.people.ledger.those(func(*promise) bool { return true })
	r.say("%-58s recovered after %4.1f s, last %-28s  %-22s  %d promises, %d open", faultNames(h.Faults), h.Recovery.Seconds(),
		h.Last, refused(h.Refusals), len(promises), len(r.people.ledger.open()))
}
