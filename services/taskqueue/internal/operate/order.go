package operate

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Order names an action and the jobs to which it applies, as sent by the page or set by a command's flags.
type Order struct {
	// Operator and Ticket are single words of a fixed alphabet, because they are logged and the log must not contain a
	// sentence about a patient.
	Operator string `json:"operator"`
	Ticket   string `json:"ticket"`

	Action Action   `json:"action"`
	IDs    []string `json:"ids"`
	Paused bool     `json:"paused"`

	Channel         string `json:"channel"`
	LabID           int64  `json:"lab_id"`
	Receiver        string `json:"receiver"` // of pauses: an origin
	States          string `json:"states"`   // separated by commas
	Reason          string `json:"reason"`
	OlderThanMin    int64  `json:"older_than_minutes"`
	CreatedBeforeMs int64  `json:"created_before_ms"`
	Cursor          string `json:"cursor"`
}

var (
	operatorWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._@-]{0,39}$`)
	ticketWord   = regexp.MustCompile(`^[A-Za-z0-9#/_-]{0,40}$`)
)

const maxMinutes = 366 * 24 * 60

// Check returns an error for an order with an invalid operator, ticket or age, before anything is changed.
func (o *Order) Check() error {
	wrong := task.Wrong{Index: -1}
	wrong.If(!operatorWord.MatchString(o.Operator), "operator",
		"say who you are, in one word such as a.rao or your e-mail address: it goes to the log")
	wrong.If(!ticketWord.MatchString(o.Ticket), "ticket",
		"the ticket is one word of letters and digits such as INC-42: it goes to the log")
	wrong.If(o.OlderThanMin < 0 || o.OlderThanMin > maxMinutes, "older_than_minutes",
		"the age must be 0 minutes to a year")
	return wrong.Err()
}

// log returns a logger with the operator and the ticket as attributes.
func (o *Order) log(to *slog.Logger) *slog.Logger {
	return to.With("operator", o.Operator, "ticket", o.Ticket)
}

// Filter selects jobs that wait, run or are dead letters. Empty fields match all.
type Filter struct {
	LabID           int64
	Channels        []job.Channel
	States          []job.State
	Reason          string // reason of the last failure, or a prefix of it
	CreatedBeforeMs int64
}

// searchable lists the states in which jobs can be found without an id. Finished jobs are kept only for /jobInfo/.
func searchable() []job.State {
	return []job.State{job.Scheduled, job.Queued, job.Retrying, job.Started, job.Failed, job.Unknown}
}

// named returns a list with the element that has the given name, or nil if there is none.
func named[T fmt.Stringer](list []T, word string) (one []T) {
	at := slices.IndexFunc(list, func(x T) bool { return x.String() == word })
	if at < 0 {
		return nil
	}
	return list[at : at+1]
}

func words[T fmt.Stringer](list []T) (names []string) {
	for _, one := range list {
		names = append(names, one.String())
	}
	return names
}

func (o *Order) Filter() (Filter, error) {
	f := Filter{LabID: o.LabID, Reason: strings.TrimSpace(o.Reason), CreatedBeforeMs: o.CreatedBeforeMs}
	wrong := task.Wrong{Index: -1}
	wrong.If(o.LabID < 0, "lab_id", "the laboratory must be a number above 0, or empty for all")
	wrong.If(o.CreatedBeforeMs < 0, "created_before_ms", "the time must be milliseconds since 1970")
	if o.Channel != "" {
		f.Channels = named(job.Channels(), o.Channel)
		wrong.If(f.Channels == nil, "channel", "there is no channel %q", o.Channel)
	}
	for word := range strings.SplitSeq(o.States, ",") {
		if word != "" {
			state := named(searchable(), word)
			wrong.If(state == nil, "states", "jobs of state %q are found by their id only", word)
			f.States = append(f.States, state...)
		}
	}
	return f, wrong.Err()
}

func (f Filter) Selects(j *manage.Job) bool {
	r := &j.Record
	return (f.LabID == 0 || r.LabID == f.LabID) &&
		(len(f.Channels) == 0 || slices.Contains(f.Channels, j.ID.Lane().Channel)) &&
		f.wants(r.State) && strings.HasPrefix(r.Reason, f.Reason) &&
		(f.CreatedBeforeMs == 0 || j.ID.CreatedMs() < f.CreatedBeforeMs)
}

func (f Filter) wants(s job.State) bool {
	return slices.Contains(searchable(), s) && (len(f.States) == 0 || slices.Contains(f.States, s))
}

func (f Filter) wantsAny(list ...job.State) bool { return slices.ContainsFunc(list, f.wants) }

// Target returns the target to pause or resume: exactly one channel, laboratory or receiver.
func (o *Order) Target() (engine.Target, error) {
	given := 0
	for _, is := range []bool{o.Channel != "", o.LabID != 0, o.Receiver != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return "", apperr.InvalidField("channel", "name one thing that is to be paused or resumed: a channel, a laboratory or a receiver")
	case o.LabID < 0:
		return "", apperr.InvalidField("lab_id", "the laboratory must be a number above 0")
	case o.LabID > 0:
		return engine.LabTarget(o.LabID), nil
	case o.Receiver != "":
		origin, err := netguard.ParseOrigin(o.Receiver)
		if err != nil {
			return "", apperr.InvalidField("receiver", "the receiver must be an origin such as https://api.example.com, without a path")
		}
		return engine.ReceiverTarget(origin), nil
	case named(job.Channels(), o.Channel) == nil:
		return "", apperr.InvalidField("channel",
			"there is no channel "+o.Channel+"; the channels are "+strings.Join(words(job.Channels()), ", "))
	}
	return engine.Target(o.Channel), nil
}
