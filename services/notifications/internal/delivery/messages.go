package delivery

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
)

// Kinds of outbox messages.
const (
	kindPush        = "taskqueue.push"
	kindResubscribe = "devices.resubscribe"
)

// Values that the task queue documents.
const (
	taskPush        = 3
	taskTypeReports = 1
	priorityHigh    = 2
	urgentRetries   = 10 // the queue's maximum: about an hour
)

// Messages encodes the messages of the use cases as outbox rows.
type Messages struct{}

var (
	_ notify.Messages     = Messages{}
	_ preference.Messages = Messages{}
)

// pushData is the documented data of a push task.
type pushData struct {
	Topic    string            `json:"topic"`
	Title    string            `json:"title"`
	Body     string            `json:"body"`
	Data     map[string]string `json:"data"`
	Priority string            `json:"priority,omitempty"`
}

// Push returns the message of one request with a task per topic.
func (Messages) Push(lab authn.LabScope, notificationID int64, pushes []notify.Push) (outbox.Event, error) {
	request := &taskqueuev1.EnqueueRequest{LabId: proto.Int64(lab.LabID())}
	for _, p := range pushes {
		task, err := pushTask(notificationID, p)
		if err != nil {
			return outbox.Event{}, err
		}
		request.Tasks = append(request.Tasks, task)
	}
	payload, err := proto.Marshal(request)
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode push: %w", err)
	}
	return outbox.Event{Aggregate: aggregateOf(notificationID), Kind: kindPush, Payload: payload}, nil
}

const notificationAggregate = "notification:"

func aggregateOf(notificationID int64) string {
	return notificationAggregate + strconv.FormatInt(notificationID, 10)
}

// notificationOf returns the id of the notification from the outbox key of its push message.
func notificationOf(aggregate string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(aggregate, notificationAggregate), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("aggregate of a push: %w", err)
	}
	return id, nil
}

func pushTask(notificationID int64, p notify.Push) (*taskqueuev1.Task, error) {
	data := pushData{Topic: p.Topic, Title: p.Title, Body: p.Body, Data: map[string]string{
		"notification_id": strconv.FormatInt(notificationID, 10), "notification_type_id": strconv.FormatInt(p.TypeID, 10),
		"for": p.For,
	}}
	if p.ReportID > 0 {
		data.Data["lrr_id"] = strconv.FormatInt(p.ReportID, 10)
	}
	if p.BillID > 0 {
		data.Data["bill_id"] = strconv.FormatInt(p.BillID, 10)
	}
	task := &taskqueuev1.Task{Task: taskPush, TaskType: taskTypeReports}
	if p.Urgent {
		data.Priority = "high"
		task.OverridePriority = proto.Int32(priorityHigh)
		task.Retry = proto.Int32(urgentRetries)
	}
	document, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode push: %w", err)
	}
	task.Data = &typev1.RawJSON{Json: document}
	return task, nil
}

// resubscription is the payload of kindResubscribe. It identifies a lab user or, with org_id, a login of an
// organization.
type resubscription struct {
	LabID    int64  `json:"lab_id"`
	UserID   int64  `json:"lab_user_id,omitempty"`
	OrgID    int64  `json:"org_id,omitempty"`
	Username string `json:"username,omitempty"`
}

func (r resubscription) viewer(lab authn.LabScope) notification.Viewer {
	if r.OrgID > 0 {
		return notification.OrganizationViewer(lab, r.OrgID, r.Username)
	}
	return notification.UserViewer(lab, r.UserID)
}

func (Messages) Resubscribe(v notification.Viewer) (outbox.Event, error) {
	kind, id := v.Login()
	r := resubscription{LabID: v.Lab.LabID(), UserID: id}
	aggregate := fmt.Sprintf("user:%d", id)
	if v.Audience == notification.OneOrganization {
		r = resubscription{LabID: v.Lab.LabID(), OrgID: id, Username: v.Username}
		aggregate = fmt.Sprintf("%s:%d", kind, id)
	}
	payload, err := json.Marshal(r)
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode resubscription: %w", err)
	}
	return outbox.Event{Aggregate: aggregate, Kind: kindResubscribe, Payload: payload}, nil
}
