package grpcapi

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/labjson"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/callout/internal/live"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// WatchCallouts streams the visible waiting reports. Its duration is not measured, because streams stay open for
// minutes.
func (s *Server) WatchCallouts(
	_ *calloutv1.WatchCalloutsRequest,
	stream grpc.ServerStreamingServer[typev1.Event],
) error {
	p, scope, sees, err := person(stream.Context())
	if err != nil {
		return err
	}
	return s.u.Live.Watch(stream.Context(), scope, sees, board{stream.Send, p.Actor()})
}

// board sends the events of one stream. They have no ids, because each connection starts with the whole list.
type board struct {
	send   func(*typev1.Event) error
	reader authn.Actor
}

var _ live.Reader = (*board)(nil)

// Admitted sends an event without fields, which the gateway turns into a comment line.
func (b board) Admitted() error { return b.send(&typev1.Event{}) }

func (b board) Open(o worklist.Open) error { return b.event("worklist", openOf(o, b.reader)) }

func (b board) Summary(s worklist.Summary) error { return b.event("summary", summaryOf(s)) }

func (b board) Alive() error { return b.send(&typev1.Event{Event: "alive", Data: "{}"}) }

func (b board) event(name string, m proto.Message) error {
	data, err := labjson.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode event %s: %T", name, m) // err is omitted, because it may quote a value
	}
	return b.send(&typev1.Event{Event: name, Data: string(data)})
}
