// Package delivery converts session events to outbox rows and delivers them to the real-time channels.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/outbox"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

// kindEvent is the kind of rows whose payload is a typev1.Event. Their aggregate is the channel.
const kindEvent = "externaledit.event"

// Encode returns the outbox row of an event.
func Encode(e session.Event) (outbox.Event, error) {
	data, err := e.JSON()
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode event: %w", err)
	}
	payload, err := proto.Marshal(&typev1.Event{Event: string(e.Name), Data: string(data)})
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode event: %w", err)
	}
	return outbox.Event{Aggregate: session.Channel(e.Session.ReportID), Kind: kindEvent, Payload: payload}, nil
}

// Channels appends events to the log of a channel and wakes its listeners.
type Channels interface {
	// Append appends an entry. It does nothing if the entry exists already.
	Append(ctx context.Context, channel string, e watch.Entry) error
}

// Receivers returns the delivery function of each kind of row.
func Receivers(channels Channels) map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindEvent: func(ctx context.Context, row outbox.Row) error {
		var event typev1.Event
		if err := proto.Unmarshal(row.Payload, &event); err != nil {
			return outbox.Undeliverable(errors.New("the payload is not an event"))
		}
		id := strconv.FormatInt(row.CreatedAt.UnixMilli(), 10) + "-" + strconv.FormatInt(row.ID, 10)
		entry := watch.Entry{ID: id, Event: event.GetEvent(), Data: event.GetData()}
		if err := channels.Append(ctx, row.Aggregate, entry); err != nil {
			return outbox.ReceiverUnavailable(err) // the cache failed; the row is valid
		}
		return nil
	}}
}
