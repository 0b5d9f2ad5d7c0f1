// Package delivery owns the messages of this service to others: what an outbox row holds, and how the relay hands it
// over. It is the border with the contracts of the services that are called.
package delivery

import (
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// The kinds of rows. The payload of a notice is a notificationsv1.NotifyRequest without its idempotency key; that of a
// wake is a calloutv1.EvaluateBillRequest: the bill whose job has to be brought in line with its deadline.
const (
	kindNotice = "notifications.notify"
	kindWake   = "taskqueue.wake"
)

// Documented numbers of notifications.
const (
	gateway        = "fcm"
	criticalReport = 2
)

// Messages makes the messages.
type Messages struct{}

var _ escalate.Messages = (*Messages)(nil)

// noticeContext is the context of a notification: ids, and nothing about the patient. The wording is that of
// notifications.
type noticeContext struct {
	LabID      int64 `json:"lab_id"`
	OrgID      int64 `json:"org_id,omitempty"`
	DoctorID   int64 `json:"doctor_id,omitempty"`
	ReportID   int64 `json:"lrr_id"`
	BillID     int64 `json:"bill_id"`
	Escalation int   `json:"escalation"`
	Corrected  bool  `json:"corrected,omitempty"`
}

func (Messages) Notice(n escalate.Notice) (outbox.Event, error) {
	c := noticeContext{
		LabID: n.LabID, OrgID: n.OrgID, DoctorID: n.DoctorID, ReportID: n.ReportID, BillID: n.BillID,
		Escalation: n.Level, Corrected: n.Corrected,
	}
	text, err := json.Marshal(c)
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode context: %w", err)
	}
	payload, err := proto.Marshal(&notificationsv1.NotifyRequest{
		Gateway: gateway, NotificationTypeId: criticalReport, Context: &typev1.RawJSON{Json: text},
	})
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode notice: %w", err)
	}
	return outbox.Event{Aggregate: aggregate(n.BillID), Kind: kindNotice, Payload: payload, DedupeKey: n.Key}, nil
}

// Wake implements escalate.Messages. It has no dedupe key: a second change of the deadline while the first row is being
// delivered must be looked at again.
func (Messages) Wake(labID, billID int64) (outbox.Event, error) {
	payload, err := proto.Marshal(&calloutv1.EvaluateBillRequest{LabId: labID, BillId: billID})
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode wake: %w", err)
	}
	return outbox.Event{Aggregate: aggregate(billID), Kind: kindWake, Payload: payload}, nil
}

// aggregate keeps the messages of one kind about a bill in order.
func aggregate(billID int64) string { return "bill:" + strconv.FormatInt(billID, 10) }
