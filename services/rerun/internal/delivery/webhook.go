package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
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
	// Replace stores the message that combine returns in place of the one that waits with this dedupe key. combine gets
	// the payload of the waiting message, nil without one. Without a message, the waiting one stays.
	Replace(ctx context.Context, dedupeKey string, combine func(waiting []byte) (*outbox.Event, error)) error
}

// Orders stores orders for automatic reruns. BaseURL is WEBHOOK_URL.
type Orders struct {
	BaseURL string
	Outbox  Outbox
}

var _ autorerun.Orders = (*Orders)(nil)

// Order stores the order. If an order for the report waits, it is replaced by an order of all indices, unless it has
// them all. Then it stays with its id, so that the task queue recognizes a repetition.
func (o Orders) Order(ctx context.Context, scope authn.LabScope, reportID int64, indices []int) error {
	key := "auto:" + strconv.FormatInt(reportID, 10)
	return o.Outbox.Replace(ctx, key, func(waiting []byte) (*outbox.Event, error) {
		earlier, err := orderedBy(waiting)
		if err != nil {
			return nil, err
		}
		all := distinct.Of(slices.Sorted(slices.Values(slices.Concat(earlier, indices))))
		if waiting != nil && len(all) == len(earlier) {
			return nil, nil
		}
		e, err := o.event(scope, reportID, all)
		e.DedupeKey = key
		return &e, err
	})
}

func (o Orders) event(scope authn.LabScope, reportID int64, indices []int) (outbox.Event, error) {
	data, err := o.webhook(scope, reportID, indices)
	if err != nil {
		return outbox.Event{}, err
	}
	return event(strconv.FormatInt(reportID, 10), kindEnqueue, &taskqueuev1.EnqueueRequest{
		LabId: proto.Int64(scope.LabID()),
		Tasks: []*taskqueuev1.Task{{
			Task: taskWebhook, TaskType: webhookPost, Data: &typev1.RawJSON{Json: data},
			LogTag: proto.String("auto_rerun"), Retry: proto.Int32(webhookRetries),
		}},
	})
}

// orderedBy returns the indices of a waiting order; none without one.
func orderedBy(payload []byte) (indices []int, err error) {
	var in taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(payload, &in); err != nil || len(in.GetTasks()) == 0 {
		return nil, err
	}
	var data struct {
		Args struct {
			Requested string `json:"requested_parameters"`
		} `json:"args"`
	}
	if err := json.Unmarshal(in.GetTasks()[0].GetData().GetJson(), &data); err != nil {
		return nil, fmt.Errorf("read waiting order: %w", err)
	}
	if err := json.Unmarshal([]byte(data.Args.Requested), &indices); err != nil {
		return nil, fmt.Errorf("read waiting order: %w", err)
	}
	return indices, nil
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
