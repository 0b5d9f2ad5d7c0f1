package operatepage

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

type laneJSON struct {
	Channel   string `json:"channel"`
	Priority  string `json:"priority"`
	Waiting   int64  `json:"waiting"`
	Ready     int64  `json:"ready"`
	Scheduled int64  `json:"scheduled"`
	OldestMs  int64  `json:"oldest_ms"`
	Running   int64  `json:"running"` // of the channel
	Started   int64  `json:"started"` // jobs begun, ever
	Key       string `json:"key"`
}

// heldJSON is a paused laboratory or receiver.
type heldJSON struct {
	LabID    int64  `json:"lab_id,omitempty"`
	Receiver string `json:"receiver,omitempty"`
	SinceMs  int64  `json:"since_ms"`
}

// leftJSON is a provider, or a kind of path at a receiver as a laboratory uses it, that is left alone because it fails.
type leftJSON struct {
	Channel  string `json:"channel,omitempty"`
	Provider string `json:"provider,omitempty"`
	LabID    int64  `json:"lab_id,omitempty"`
	Receiver string `json:"receiver,omitempty"`
	SinceMs  int64  `json:"since_ms"`
	UntilMs  int64  `json:"until_ms"` // afterwards one delivery tries
}

// mostLeft bounds the list: beyond that many, which ones matters no more.
const mostLeft = 50

func leftOf(h engine.Holds) []leftJSON {
	list := []leftJSON{}
	for to, one := range h.Held {
		l := leftJSON{SinceMs: one.SinceMs, UntilMs: one.UntilMs}
		l.Channel, l.Provider, _ = to.Provider()
		l.LabID, l.Receiver, _ = to.Path()
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b leftJSON) int {
		return cmp.Or(cmp.Compare(b.Provider, a.Provider), cmp.Compare(a.LabID, b.LabID), cmp.Compare(a.Receiver, b.Receiver))
	})
	return list[:min(mostLeft, len(list))]
}

type overviewJSON struct {
	NowMs    int64            `json:"now_ms"`
	Lanes    []laneJSON       `json:"lanes"`
	Dead     int64            `json:"dead"`
	Unsaved  int64            `json:"unsaved"` // ended jobs that wait for the archive
	Paused   map[string]int64 `json:"paused"`  // since when, by channel
	Held     []heldJSON       `json:"held"`    // laboratories and receivers that are paused
	Left     []leftJSON       `json:"left"`
	Attempts map[string]int64 `json:"attempts"`
	Faults   map[string]int64 `json:"faults"`
}

func (s *server) overview(r *http.Request) (any, error) {
	o, err := s.operator.Overview(r.Context())
	if err != nil {
		return nil, err
	}
	out := overviewJSON{
		NowMs:    o.Now.UnixMilli(),
		Dead:     o.Backlog.Dead,
		Unsaved:  o.Backlog.Ends,
		Paused:   map[string]int64{},
		Held:     []heldJSON{},
		Left:     leftOf(o.Holds),
		Attempts: map[string]int64{},
		Faults:   map[string]int64{},
	}
	for target, at := range o.Paused {
		lab, isLab := target.Lab()
		receiver, isReceiver := target.Receiver()
		if isLab || isReceiver {
			out.Held = append(out.Held, heldJSON{LabID: lab, Receiver: receiver, SinceMs: at.UnixMilli()})
			continue
		}
		out.Paused[string(target)] = at.UnixMilli()
	}
	slices.SortFunc(out.Held, func(a, b heldJSON) int {
		return cmp.Or(cmp.Compare(a.LabID, b.LabID), cmp.Compare(a.Receiver, b.Receiver))
	})
	for _, d := range o.Lanes {
		out.Lanes = append(out.Lanes, laneOf(d))
		out.Attempts[d.Lane.Channel.String()], out.Faults[d.Lane.Channel.String()] = d.Attempts, d.Faults
	}
	return out, nil
}

func laneOf(d engine.Depth) laneJSON {
	return laneJSON{
		Channel:   d.Lane.Channel.String(),
		Priority:  d.Lane.Priority.String(),
		Waiting:   d.Waiting,
		Ready:     d.Ready,
		Scheduled: max(0, d.Waiting-d.Ready),
		OldestMs:  d.OldestMs,
		Running:   d.Running,
		Started:   d.Begun,
		Key:       d.Lane.Channel.String() + ":" + strconv.Itoa(int(d.Lane.Priority)),
	}
}

func (s *server) ahead(r *http.Request) (any, error) {
	first, a, err := s.operator.Ahead(r.Context())
	if err != nil {
		return nil, err
	}
	return map[string]any{"first_ms": first.UnixMilli(), "hours": a.Hours, "later": a.Later, "partial": a.Partial}, nil
}

// jobJSON is one line of a list: nothing that a caller wrote.
type jobJSON struct {
	ID              job.ID `json:"id"`
	State           string `json:"state"`
	Channel         string `json:"channel"`
	Priority        string `json:"priority"`
	Task            int    `json:"task"`
	TaskType        int    `json:"task_type"`
	LabID           int64  `json:"lab_id"`
	Attempts        int    `json:"attempts"`
	Retry           int    `json:"retry"`
	Reason          string `json:"reason"`
	CreatedMs       int64  `json:"created_ms"`
	ScheduledMs     int64  `json:"scheduled_ms"`
	StartedMs       int64  `json:"started_ms"`
	EndedMs         int64  `json:"ended_ms"`
	CancelRequested bool   `json:"cancel_requested"`
}

func jobOf(v *api.Job) jobJSON {
	r := &v.Record
	return jobJSON{
		ID:              v.ID,
		State:           r.State.String(),
		Channel:         v.ID.Lane().Channel.String(),
		Priority:        v.ID.Lane().Priority.String(),
		Task:            r.Task,
		TaskType:        r.TaskType,
		LabID:           r.LabID,
		Attempts:        r.Attempts,
		Retry:           r.Retry,
		Reason:          r.Reason,
		CreatedMs:       r.CreatedMs,
		ScheduledMs:     r.ScheduledMs,
		StartedMs:       r.StartedMs,
		EndedMs:         r.EndedMs,
		CancelRequested: v.CancelRequested,
	}
}

// pageSize is how many jobs a list shows at a time.
const pageSize = 50

func (s *server) search(r *http.Request) (any, error) {
	q := r.URL.Query()
	f, err := filterOf(q)
	if err != nil {
		return nil, err
	}
	found, err := s.operator.Search(r.Context(), f, q.Get("cursor"), pageSize)
	if err != nil {
		return nil, err
	}
	list := make([]jobJSON, len(found.Jobs))
	for i, v := range found.Jobs {
		list[i] = jobOf(v)
	}
	return map[string]any{"jobs": list, "looked": found.Looked, "next": found.Next}, nil
}

func filterOf(q url.Values) (operate.Filter, error) {
	lab := int64(0)
	if text := q.Get("lab_id"); text != "" {
		var err error
		if lab, err = strconv.ParseInt(text, 10, 64); err != nil {
			return operate.Filter{}, apperr.InvalidField("lab_id", "the laboratory must be a number, or empty for all")
		}
	}
	return operate.ParseFilter(lab, q.Get("channel"), q.Get("states"), q.Get("reason"), 0)
}

type attemptJSON struct {
	StartedMs  int64  `json:"started_ms"`
	EndedMs    int64  `json:"ended_ms"`
	HTTPStatus int    `json:"http_status"`
	Reason     string `json:"reason"`
}

type lifeJSON struct {
	jobJSON
	DueMs      int64              `json:"due_ms"`
	DeadlineMs int64              `json:"deadline_ms"`
	ExpiresMs  int64              `json:"expires_ms"`
	HTTPStatus int                `json:"http_status"`
	Revivals   int                `json:"revivals"`
	Window     string             `json:"window"`
	Parent     job.ID             `json:"parent"`
	Sealed     bool               `json:"sealed"`
	History    []attemptJSON      `json:"history"`
	Callbacks  []operate.Callback `json:"callbacks"`
	Told       []job.ID           `json:"told"`   // the jobs that told others of the end
	Untold     bool               `json:"untold"` // its callbacks were dropped
	Content    *contentJSON       `json:"content,omitempty"`
}

// contentJSON is what callers and receivers wrote, which may be of patients.
type contentJSON struct {
	Data      string `json:"data"`
	LogTag    string `json:"log_tag"`
	Error     string `json:"error"`
	Excerpt   string `json:"excerpt"`
	MessageID string `json:"message_id"`
	Caller    string `json:"caller"`
}

func (s *server) life(r *http.Request) (any, error) {
	l, err := s.operator.Life(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	record := &l.View.Record
	out := lifeJSON{
		jobJSON:    jobOf(l.View),
		DueMs:      l.DueMs,
		DeadlineMs: l.DeadlineMs,
		ExpiresMs:  l.ExpiresMs,
		HTTPStatus: record.HTTPStatus,
		Revivals:   l.Revivals,
		Window:     l.Window,
		Parent:     l.Parent,
		Sealed:     l.Sealed,
		History:    []attemptJSON{},
		Callbacks:  l.Callbacks,
		Told:       append([]job.ID{}, record.Callbacks...),
		Untold:     record.Untold,
	}
	for _, a := range record.History {
		out.History = append(out.History, attemptJSON{a.StartedMs, a.EndedMs, a.HTTPStatus, a.Reason})
	}
	if s.ShowPayloads {
		out.Content = &contentJSON{Data: l.Data, LogTag: record.LogTag, Error: record.Error, Excerpt: record.Excerpt,
			MessageID: record.MessageID, Caller: record.Caller}
	}
	return out, nil
}
