package delivery

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Kinds of the rows for the callout service. The payload is the request of an RPC.
const (
	kindEvaluate    = "callout.evaluate"    // request of EvaluateReports
	kindUnconfirmed = "callout.unconfirmed" // request of SetUnconfirmedValues
)

// Messages encodes the messages to the callout service.
type Messages struct{}

// Evaluation encodes the request to evaluate the report. logID distinguishes two confirms.
func (Messages) Evaluation(scope authn.LabScope, reportID, logID int64) (outbox.Event, error) {
	id := strconv.FormatInt(reportID, 10)
	e, err := event(id, kindEvaluate,
		&calloutv1.EvaluateReportsRequest{LabId: scope.LabID(), ReportIds: []int64{reportID}})
	e.DedupeKey = "evaluate:" + id + ":" + strconv.FormatInt(logID, 10)
	return e, err
}

// Unconfirmed encodes the values that were received but not confirmed.
func (Messages) Unconfirmed(scope authn.LabScope, reportID int64, a rerun.Announcement) (outbox.Event, error) {
	in := &calloutv1.SetUnconfirmedValuesRequest{LabId: scope.LabID(), ReportId: reportID, AsOf: a.AsOf.UnixMicro()}
	for _, v := range a.Values {
		in.Values = append(in.Values, &calloutv1.UnconfirmedRerunValue{
			ProfileTestId: v.TestID, ParameterName: v.ParameterName, Value: v.Value, ReceivedAt: v.CreatedAt.UnixMicro(),
			Index: int32(v.Index), Order: int32(v.Order), // both were parsed as 32 bits
		})
	}
	return event(strconv.FormatInt(reportID, 10), kindUnconfirmed, in)
}

func event(reportID, kind string, m proto.Message) (outbox.Event, error) {
	payload, err := proto.Marshal(m)
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return outbox.Event{Aggregate: reportAggregate(reportID), Kind: kind, Payload: payload}, nil
}

// reportAggregate returns the outbox key of messages about a report, which are delivered in order per kind.
func reportAggregate(id string) string { return "report:" + id }
