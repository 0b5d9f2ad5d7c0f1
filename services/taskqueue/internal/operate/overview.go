package operate

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Overview is the state of the whole queue.
type Overview struct {
	NowMs     int64            `json:"now_ms"`
	Lanes     []Lane           `json:"lanes"`
	Dead      int64            `json:"dead"`
	Unsaved   int64            `json:"unsaved"`   // ended jobs that wait for the archive
	Paused    map[string]int64 `json:"paused"`    // start of the pause, by channel
	Held      []Alone          `json:"held"`      // paused laboratories and receivers
	Left      []Alone          `json:"left"`      // failing providers and receivers
	Providers []Provider       `json:"providers"` // rows of tq_provider, by id
	Attempts  map[string]int64 `json:"attempts"`  // by channel, since the queue was created
	Faults    map[string]int64 `json:"faults"`
}

// Provider is a row of tq_provider.
type Provider struct {
	Channel  string `json:"channel"`
	Provider string `json:"provider"`
	Position int    `json:"position"`
	// Country and TaskType limit what it serves; 0: no limit.
	Country  int    `json:"country,omitempty"`
	TaskType int    `json:"task_type,omitempty"`
	Out      string `json:"out,omitempty"` // what is wrong with the row; empty: nothing
}

// Lane is the load of a lane.
type Lane struct {
	Channel   string `json:"channel"`
	Priority  string `json:"priority"`
	Waiting   int64  `json:"waiting"`
	Ready     int64  `json:"ready"`
	Scheduled int64  `json:"scheduled"`
	OldestMs  int64  `json:"oldest_ms"`
	Running   int64  `json:"running"` // of the channel
	Started   int64  `json:"started"` // jobs started since the queue was created
	Key       string `json:"key"`
}

// Alone is a destination to which nothing is sent: a laboratory or receiver paused by operators, a failing provider, or
// a failing class of paths at a receiver, per laboratory.
type Alone struct {
	Channel  string `json:"channel,omitempty"`
	Provider string `json:"provider,omitempty"`
	LabID    int64  `json:"lab_id,omitempty"`
	Receiver string `json:"receiver,omitempty"`
	SinceMs  int64  `json:"since_ms"`
	UntilMs  int64  `json:"until_ms,omitempty"` // end of the pause; 0: until an operator resumes it
}

func sortAlone(list []Alone) {
	slices.SortFunc(list, func(a, b Alone) int {
		return cmp.Or(cmp.Compare(b.Provider, a.Provider), cmp.Compare(a.LabID, b.LabID), cmp.Compare(a.Receiver, b.Receiver))
	})
}

// maxLeft is the maximum length of the list of failing destinations.
const maxLeft = 50

// Overview returns the state of the queue.
func (o *Operator) Overview(ctx context.Context) (Overview, error) {
	t, err := engine.Total(ctx, o.Queue)
	if err != nil {
		return Overview{}, engine.Unavailable(err)
	}
	out := Overview{NowMs: o.Clock.Now().UnixMilli(), Dead: t.Dead, Unsaved: t.Ends, Left: leftOf(t.Holds),
		Providers: []Provider{}, Paused: map[string]int64{}, Held: []Alone{}, Attempts: map[string]int64{},
		Faults: map[string]int64{}}
	if o.Providers != nil {
		out.Providers = o.Providers()
	}
	for target, at := range t.Paused {
		lab, isLab := target.Lab()
		receiver, isReceiver := target.Receiver()
		if isLab || isReceiver {
			out.Held = append(out.Held, Alone{LabID: lab, Receiver: receiver, SinceMs: at.UnixMilli()})
			continue
		}
		out.Paused[string(target)] = at.UnixMilli()
	}
	sortAlone(out.Held)
	for _, d := range t.Lanes {
		channel := d.Lane.Channel.String()
		out.Lanes = append(out.Lanes, Lane{Channel: channel, Priority: d.Lane.Priority.String(), Waiting: d.Waiting,
			Ready: d.Ready, Scheduled: max(0, d.Waiting-d.Ready), OldestMs: d.OldestMs, Running: d.Running, Started: d.Begun,
			Key: channel + ":" + strconv.Itoa(int(d.Lane.Priority))})
		out.Attempts[channel], out.Faults[channel] = d.Attempts, d.Faults
	}
	return out, nil
}

func leftOf(h engine.Holds) []Alone {
	list := []Alone{}
	for to, one := range h.Held {
		if to.IsOut() { // the list of rows shows what is wrong with it
			continue
		}
		l := Alone{SinceMs: one.SinceMs, UntilMs: one.UntilMs}
		l.Channel, l.Provider, _ = to.Provider()
		l.LabID, l.Receiver, _ = to.Path()
		list = append(list, l)
	}
	sortAlone(list)
	return list[:min(maxLeft, len(list))]
}

// aheadHours is the number of hours for which scheduled jobs are counted by hour.
const aheadHours = 48

// Ahead counts the scheduled jobs.
type Ahead struct {
	FirstMs int64   `json:"first_ms"` // start of the current hour
	Hours   []int64 `json:"hours"`
	Later   int64   `json:"later"`
	Partial bool    `json:"partial"` // the count was stopped, because it would have taken too long
}

// Ahead counts scheduled jobs by hour, starting with the current hour.
func (o *Operator) Ahead(ctx context.Context) (Ahead, error) {
	first := o.Clock.Now().UTC().Truncate(time.Hour)
	sum := Ahead{FirstMs: first.UnixMilli(), Hours: make([]int64, aheadHours)}
	for shard := range job.Shards {
		depths, err := o.Queue.Depths(ctx, shard)
		if err != nil {
			return sum, engine.Unavailable(err)
		}
		for _, d := range depths.Lanes {
			if d.Waiting == d.Ready {
				continue
			}
			a, err := o.Queue.Ahead(ctx, shard, d.Lane, first, aheadHours)
			if err != nil {
				return sum, engine.Unavailable(err)
			}
			for i, n := range a.Hours {
				sum.Hours[i] += n
			}
			sum.Later, sum.Partial = sum.Later+a.Later, sum.Partial || a.Partial
		}
	}
	return sum, nil
}
