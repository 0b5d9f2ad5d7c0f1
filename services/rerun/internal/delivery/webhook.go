package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
)

// kindEnqueue is the kind of rows whose payload is a taskqueuev1.EnqueueRequest without its idempotency key.
const kindEnqueue = "taskqueue.enqueue"

// Values that the task queue documents, and how long an order is retried.
const (
	taskWebhook    = 4
	webhookPost    = 2
	webhookRetries = 10
	webhookTimeout = 30 // in seconds
)

// Outbox stores messages durably.
type Outbox interface {
	Send(ctx context.Context, e outbox.Event) error
}

// Orders stores orders for automatic reruns. BaseURL is WEBHOOK_URL.
type Orders struct {
	BaseURL string
	Outbox  Outbox
}

var _ autorerun.Orders = (*Orders)(nil)

// Order stores the order, unless one for the report waits already.
func (o Orders) Order(ctx context.Context, scope authn.LabScope, reportID int64, indices []int) error {
	data, err := o.webhook(scope, reportID, indices)
	if err != nil {
		return err
	}
	payload, err := proto.Marshal(&taskqueuev1.EnqueueRequest{
		LabId: proto.Int64(scope.LabID()),
		Tasks: []*taskqueuev1.Task{{
			Task: taskWebhook, TaskType: webhookPost, Data: &typev1.RawJSON{Json: data},
			LogTag: proto.String("auto_rerun"), Retry: proto.Int32(webhookRetries),
		}},
	})
	if err != nil {
		return fmt.Errorf("encode order: %w", err)
	}
	id := strconv.FormatInt(reportID, 10)
	return o.Outbox.Send(ctx, outbox.Event{
		Aggregate: reportAggregate(id), Kind: kindEnqueue, Payload: payload, DedupeKey: "auto:" + id,
	})
}

// webhook returns the data of the task: a POST of the request to this service.
func (o Orders) webhook(scope authn.LabScope, reportID int64, indices []int) ([]byte, error) {
	data, err := json.Marshal(struct {
		URL     string          `json:"url"`
		Args    json.RawMessage `json:"args"`
		IsBody  int             `json:"isBody"`
		Timeout int             `json:"timeout"`
	}{
		URL:  fmt.Sprintf("%s/api-v3/sample-rerun/%d/request", strings.TrimRight(o.BaseURL, "/"), reportID),
		Args: requestBody(scope, indices), IsBody: 1, Timeout: webhookTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("encode webhook: %w", err)
	}
	return data, nil
}

// requestBody returns the documented body, byte for byte.
func requestBody(scope authn.LabScope, indices []int) []byte {
	list := make([]string, 0, len(indices))
	for _, i := range indices {
		list = append(list, strconv.Itoa(i))
	}
	return fmt.Appendf(nil, `{"type":"auto","rerun_number":"1","requested_parameters":"[%s]","is_active":true,`+
		`"lab_id":%d}`,
		strings.Join(list, ", "), scope.LabID())
}
