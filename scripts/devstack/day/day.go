package day

import (
	"cmp"
	"container/heap"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// Config selects the platform and the speed of the simulation.
type Config struct {
	Endpoints endpoints.Endpoints
	Token     func() (string, error) // returns a token for the internal listener
	Pace      float64                // simulated minutes per minute; at 60 a day takes 24 minutes
	Seed      uint64
	Critical  float64           // the share of patients with a life-threatening value; 0: a realistic one
	Out       io.Writer         // receives a line for each simulated hour and for each failure
	Transport http.RoundTripper // transport of the staff's requests; nil: the default one
	Done      func(Deed)        // called with everything that was acknowledged; may be nil
}

// Deed is an acknowledged change: by the database to the core, or by the platform to a person.
type Deed struct {
	What       string // one of the constants below
	User, Bill int64
	Report     int64
	Text       string   // the patient's contact, or the value
	Jobs       []string // ids of jobs of the task queue
	NotBefore  time.Time
}

// Values of Deed.What.
const (
	Registered = "registered" // a patient, with a bill and two reports
	Critical   = "critical"   // a life-threatening value was entered
	Confirmed  = "confirmed"  // the value of a second measurement
	Called     = "called"     // a call with read-back was recorded
	Sent       = "sent"       // jobs of the task queue
	Split      = "split"
)

// patience limits one event with all of its requests.
const patience = 20 * time.Second

// opens is the hour at which the first simulated day begins.
const opens = 7

// arrivals are the patients per hour, by the hour of the day.
var arrivals = [24]float64{
	7: 30, 8: 70, 9: 90, 10: 80, 11: 60, 12: 40, 13: 25, 14: 25, 15: 30, 16: 40, 17: 45, 18: 40, 19: 25, 20: 12, 21: 5,
}

// play is a running simulation. Its minutes are sequential; the events of one minute are concurrent.
type play struct {
	Config

	core   *sql.DB
	client *http.Client
	rand   *rand.Rand // used by the goroutine of the minutes only

	numbers sync.Mutex // locked while the core numbers a bill

	mu     sync.Mutex // guards the fields below
	later  agenda
	minute int // since midnight of the first day
	whole  Tally
	told   Tally // the tally printed at the last full hour
}

// Tally counts the events of a simulation by kind.
type Tally struct{ Patients, Results, Critical, Called, Edited, Split, Failed int }

// less returns the difference to another tally.
func (t Tally) less(o Tally) Tally {
	return Tally{t.Patients - o.Patients, t.Results - o.Results, t.Critical - o.Critical, t.Called - o.Called,
		t.Edited - o.Edited, t.Split - o.Split, t.Failed - o.Failed}
}

// due is an event scheduled for a minute of the simulation.
type due struct {
	minute int
	do     func(context.Context) error
}

type agenda []due

var _ heap.Interface = (*agenda)(nil)

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].minute < a[j].minute }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

func (a *agenda) Push(x any) { *a = append(*a, x.(due)) }

func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// Run simulates until ctx ends and returns the number of events.
func Run(ctx context.Context, c Config) (Tally, error) {
	core, err := sql.Open("mysql", c.Endpoints.MySQLDSN)
	if err != nil {
		return Tally{}, fmt.Errorf("play a day: %w", err)
	}
	defer core.Close()
	core.SetMaxOpenConns(8)
	p := &play{Config: c, core: core, client: &http.Client{Transport: c.Transport},
		rand: rand.New(rand.NewPCG(c.Seed, c.Seed)), minute: opens * 60}
	tick := time.NewTicker(time.Duration(float64(time.Minute) / c.Pace))
	defer tick.Stop()
	var working sync.WaitGroup
	for {
		select {
		case <-ctx.Done():
			working.Wait()
			return p.whole, nil
		case <-tick.C:
		}
		for _, do := range p.next() {
			working.Go(func() {
				// Events under way at the end are finished: if ctx's deadline cancelled them, they would look like failures.
				own, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
				defer done()
				p.settle(ctx, do(own))
			})
		}
	}
}

// next advances by a minute and returns the events that are due in it.
func (p *play) next() []func(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.minute++
	if p.minute%60 == 0 {
		t := p.whole.less(p.told)
		fmt.Fprintf(p.Out, "%02d:00  %d patients, %d results, %d critical, %d called, %d documents, %d bills split, %d failed\n",
			p.minute/60%24, t.Patients, t.Results, t.Critical, t.Called, t.Edited, t.Split, t.Failed)
		p.told = p.whole
	}
	var all []func(context.Context) error
	for range p.poisson(arrivals[p.minute/60%24] / 60) {
		all = append(all, p.arrives(drawPatient(p.rand, cmp.Or(p.Critical, criticalPart))))
	}
	if p.minute%4 == 0 {
		all = append(all, p.callSomebody)
	}
	if p.minute%30 == 0 {
		all = append(all, p.restock)
	}
	for len(p.later) > 0 && p.later[0].minute <= p.minute {
		all = append(all, heap.Pop(&p.later).(due).do)
	}
	return all
}

// poisson draws the number of independent events when mean are expected.
func (p *play) poisson(mean float64) int {
	n, product, limit := 0, p.rand.Float64(), math.Exp(-mean)
	for product > limit {
		n++
		product *= p.rand.Float64()
	}
	return n
}

// in schedules an event after a number of simulated minutes.
func (p *play) in(minutes int, do func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	heap.Push(&p.later, due{p.minute + minutes, do})
}

func (p *play) count(one func(*Tally)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one(&p.whole)
}

func (p *play) done(d Deed) {
	if p.Done != nil {
		p.Done(d)
	}
}

// settle counts a failure, unless ctx has ended, and does not stop the simulation, because tests break the platform on
// purpose.
func (p *play) settle(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(p.Out, "failed:", err)
		p.count(func(t *Tally) { t.Failed++ })
	}
}
