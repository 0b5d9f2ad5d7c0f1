package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// mostPauses bounds what is paused at a time: every claim names the paused laboratories.
const mostPauses = 200

// ParseTarget reads what is to be paused or resumed: exactly one of the three is given.
func ParseTarget(channel string, lab int64, receiver string) (engine.Target, error) {
	named := 0
	for _, given := range []bool{channel != "", lab != 0, receiver != ""} {
		if given {
			named++
		}
	}
	switch {
	case named != 1:
		return "", apperr.InvalidField("channel", "name one thing that is to be paused or resumed: a channel, a laboratory or a receiver")
	case lab < 0:
		return "", apperr.InvalidField("lab_id", "the laboratory must be a number above 0")
	case lab > 0:
		return engine.LabTarget(lab), nil
	case receiver != "":
		origin, err := netguard.ParseOrigin(receiver)
		if err != nil {
			return "", apperr.InvalidField("receiver", "the receiver must be an origin such as https://api.example.com, without a path")
		}
		return engine.ReceiverTarget(origin), nil
	}
	if !slices.ContainsFunc(job.Channels(), func(c job.Channel) bool { return c.String() == channel }) {
		return "", apperr.InvalidField("channel", "there is no channel "+channel+"; the channels are "+channelNames())
	}
	return engine.Target(channel), nil
}

func channelNames() string {
	names := make([]string, 0, len(job.Channels()))
	for _, c := range job.Channels() {
		names = append(names, c.String())
	}
	return strings.Join(names, ", ")
}

// Pause lets no process begin jobs of a channel or a laboratory, or send to a receiver, within about a second. What
// runs ends as usual; tasks are accepted.
func (o *Operator) Pause(ctx context.Context, t engine.Target) error {
	known, err := o.Queue.Paused(ctx, 0)
	if err != nil {
		return unavailable(err)
	}
	if _, again := known[t]; !again && len(known) >= mostPauses {
		return apperr.New(apperr.Conflict, "TOO_MANY_PAUSES",
			fmt.Sprintf("%d things are paused already; resume some, or pause a channel", len(known)))
	}
	if err := o.Queue.Pause(ctx, t, o.Clock.Now()); err != nil {
		return unavailable(err)
	}
	return nil
}

// Resume ends a pause.
func (o *Operator) Resume(ctx context.Context, t engine.Target) error {
	if err := o.Queue.Resume(ctx, t); err != nil {
		return unavailable(err)
	}
	return nil
}
