package delivery

import (
	"fmt"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
)

// kindEvaluate marks rows whose payload is a calloutv1.EvaluateReportsRequest.
const kindEvaluate = "callout.evaluate"

// Evaluations makes orders to judge changed reports again.
type Evaluations struct{}

var _ closing.Messages = (*Evaluations)(nil)

func (Evaluations) Evaluation(scope authn.LabScope, reportID, logID int64) (outbox.Event, error) {
	payload, err := proto.Marshal(&calloutv1.EvaluateReportsRequest{LabId: scope.LabID(), ReportIds: []int64{reportID}})
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode evaluation: %w", err)
	}
	id := strconv.FormatInt(reportID, 10)
	return outbox.Event{
		Aggregate: reportAggregate(id), Kind: kindEvaluate, Payload: payload,
		DedupeKey: "evaluate:" + id + ":" + strconv.FormatInt(logID, 10),
	}, nil
}

// reportAggregate is the aggregate of messages about a report; each kind has an order of its own in it.
func reportAggregate(id string) string { return "report:" + id }
