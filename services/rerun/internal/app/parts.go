package app

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/grpcapi"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// newRelay returns the relay that delivers outbox messages to the task queue and the callout service.
func newRelay(s *service.Service, cfg Config, st stores) (*outbox.Relay, error) {
	queue, err := s.Client(cfg.TaskqueueAddr, "taskqueue")
	if err != nil {
		return nil, err
	}
	callout, err := newCallout(s, cfg)
	if err != nil {
		return nil, err
	}
	return s.Outbox(cfg.Outbox, st.db, mysql.OutboxTable, func(t outbox.Table) map[string]outbox.Deliver {
		dispatcher := delivery.Dispatcher{
			Table: t.Name(), TaskQueue: taskqueuev1.NewTaskQueueServiceClient(queue), Callout: callout,
		}
		return dispatcher.Receivers()
	})
}

// newCallout returns the client of the callout service; nil if its address is not set.
func newCallout(s *service.Service, cfg Config) (delivery.Callout, error) {
	conn, err := s.Client(cfg.CalloutAddr, "callout")
	if err != nil || conn == nil {
		return nil, err
	}
	return calloutv1.NewCalloutServiceClient(conn), nil
}

// newIndex returns the client of change capture. Without its address, the client does nothing.
func newIndex(s *service.Service, cfg Config) (delivery.Index, error) {
	conn, err := s.Client(cfg.CDCAddr, "cdc")
	if err != nil || conn == nil {
		return delivery.Index{}, err
	}
	return delivery.Index{Client: cdcv1.NewChangeCaptureServiceClient(conn)}, nil
}

// newEditors returns the client of external editing. Without its address, the client finds no sessions.
func newEditors(s *service.Service, cfg Config) (delivery.Editors, error) {
	conn, err := s.Client(cfg.ExternalEditAddr, "externaledit")
	if err != nil || conn == nil {
		return delivery.Editors{}, err
	}
	return delivery.Editors{Client: externaleditv1.NewExternalEditServiceClient(conn), Log: s.Log}, nil
}

func newServer(s *service.Service, cfg Config, st stores, relay *outbox.Relay) (*grpcapi.Server, error) {
	index, err := newIndex(s, cfg)
	if err != nil {
		return nil, err
	}
	editors, err := newEditors(s, cfg)
	if err != nil {
		return nil, err
	}
	queue := s.AfterCommit(aftercommit.Names()...)
	after := aftercommit.New(aftercommit.Deps{
		Queue: queue, Flags: st.reports, OpenSet: st.openSet, Documents: st.records, Index: index,
	})
	return grpcapi.New(grpcapi.Deps{
		DocumentStore: cfg.DocumentStore,
		Requester: request.New(request.Deps{
			Reports: st.reports, Documents: st.records, AfterCommit: after, Clock: s.Clock,
			NewID: newID, Log: s.Log, Counters: st.counters,
		}),
		Evaluator: autorerun.New(autorerun.Deps{
			Subjects: st.reports, Records: st.records,
			Orders:    delivery.Orders{BaseURL: cfg.WebhookURL, Outbox: st.reports},
			WakeRelay: relay.Wake, Log: s.Log, Counters: st.counters,
		}),
		Lister: listing.New(st.reports, st.records),
		Receiver: receive.New(receive.Deps{
			Reports: st.reports, Documents: st.records, AfterCommit: after, WakeRelay: relay.Wake,
			Clock: s.Clock, NewID: newID, Counters: st.counters,
		}),
		Editors: editors,
		Closer: closing.New(closing.Deps{
			Reports: st.reports, Documents: st.records, WakeRelay: relay.Wake, AfterCommit: after, Clock: s.Clock,
			Counters: st.counters,
		}),
	}), nil
}

// newSweeper returns the loop that repairs the effects of crashes.
func newSweeper(s *service.Service, cfg Config, st stores) *sweep.Sweeper {
	return sweep.New(sweep.Deps{
		Config: cfg.Sweep, Leader: st.reports, Reports: st.reports, Documents: st.records,
		OpenSet: st.openSet, Clock: s.Clock, Log: s.Log, Counters: st.counters,
	})
}

// newID returns a unique id for a document.
func newID() string { return bson.NewObjectID().Hex() }
