// Package delivery encodes the rows of the outbox, and delivers them to notifications and the task queue.
package delivery

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// Kinds of outbox rows. The payload of a notice is a notificationsv1.NotifyRequest, that of a withdrawal JSON, and that
// of a wake-up a calloutv1.EvaluateBillRequest for the bill whose job has to be rescheduled.
const (
	kindNotice   = "notifications.notify"
	kindWithdraw = "notifications.withdraw"
	kindWake     = "taskqueue.wake"
)

// Values defined by the notification service.
const (
	gateway        = "fcm"
	criticalReport = 2
)

// Messages encodes messages to other services as outbox rows.
type Messages struct{}

// noticeContext is the context of a notification. It has ids only, no patient data; the notification service writes the
// text.
type noticeContext struct {
	LabID       int64 `json:"lab_id"`
	OrgID       int64 `json:"org_id,omitempty"`
	DoctorID    int64 `json:"doctor_id,omitempty"`
	ReportID    int64 `json:"lrr_id"`
	BillID      int64 `json:"bill_id"`
	Escalation  int   `json:"escalation"`
	Corrected   bool  `json:"corrected,omitempty"`
	Unclear     bool  `json:"unclear,omitempty"`
	Unconfirmed bool  `json:"unconfirmed,omitempty"`
	Laboratory  *bool `json:"laboratory,omitempty"` // false: omit the laboratory, which gets another notice
}

// withdrawal is the payload of rows of kindWithdraw.
type withdrawal struct {
	LabID   int64
	Message callout.Message
}

// Encode returns the outbox row of a message.
func (Messages) Encode(labID int64, m callout.Message) (outbox.Event, error) {
	e := outbox.Event{Aggregate: aggregate(m.BillID), Kind: kindNotice, DedupeKey: dedupeKey(m)}
	if m.Kind == callout.Withdraw {
		payload, err := json.Marshal(withdrawal{labID, m})
		if err != nil {
			return outbox.Event{}, fmt.Errorf("encode withdrawal: %w", err)
		}
		e.Kind, e.Payload = kindWithdraw, payload
		return e, nil
	}
	request, err := notifyRequest(labID, m)
	if err != nil {
		return outbox.Event{}, err
	}
	e.Payload, err = proto.Marshal(request)
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode notice: %w", err)
	}
	return e, nil
}

// dedupeKey returns the deduplication key of the message's row. It begins with the message kind.
func dedupeKey(m callout.Message) string {
	kind := map[callout.MessageKind]string{
		callout.Announce: "pending", callout.Escalate: "escalation", callout.Correct: "corrected",
		callout.Withdraw: "withdrawn", callout.TellUnclear: "unclear", callout.TellUnconfirmed: "unconfirmed",
	}[m.Kind]
	if m.Called {
		kind = "called"
	}
	return fmt.Sprintf("%s:%d:%s:%s:%d-%d", kind, m.ReportID, m.Key, m.Notice, m.Audience.OrgID, m.Audience.DoctorID)
}

func notifyRequest(labID int64, m callout.Message) (*notificationsv1.NotifyRequest, error) {
	c := noticeContext{
		LabID: labID, OrgID: m.Audience.OrgID, DoctorID: m.Audience.DoctorID, ReportID: m.ReportID, BillID: m.BillID,
		Escalation: m.Level, Corrected: m.Kind == callout.Correct, Unclear: m.Kind == callout.TellUnclear,
		Unconfirmed: m.Kind == callout.TellUnconfirmed,
	}
	if c.Unclear || c.Unconfirmed {
		c.Escalation = 1 // the laboratory is the only receiver
	}
	if m.Quiet && (c.OrgID != 0 || c.DoctorID != 0) {
		c.Laboratory = new(bool)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode context: %w", err)
	}
	key := noticeKey(m.ReportID, m.Key)
	if m.Kind == callout.Correct {
		key = fmt.Sprintf("%s/%d-%d", key, m.Audience.OrgID, m.Audience.DoctorID)
	}
	return &notificationsv1.NotifyRequest{
		Gateway: gateway, NotificationTypeId: criticalReport, Context: &typev1.RawJSON{Json: text}, IdempotencyKey: &key,
	}, nil
}

// noticeKey returns the idempotency key of a statement's notice.
func noticeKey(reportID int64, statement string) string {
	return "callout:" + strconv.FormatInt(reportID, 10) + ":" + statement
}

// messageOf returns the message that a request delivers. Rows of version 1.0.0 have no statement key and are sent
// without a check.
func messageOf(in *notificationsv1.NotifyRequest) (m callout.Message, labID int64, err error) {
	var c noticeContext
	if err := json.Unmarshal(in.GetContext().GetJson(), &c); err != nil {
		return m, 0, errPayload
	}
	m = callout.Message{
		ReportID: c.ReportID, BillID: c.BillID, Level: c.Escalation,
		Audience: callout.Audience{OrgID: c.OrgID, DoctorID: c.DoctorID},
		Quiet:    c.Laboratory != nil && !*c.Laboratory,
	}
	switch {
	case c.Corrected:
		m.Kind = callout.Correct
	case c.Unclear:
		m.Kind = callout.TellUnclear
	case c.Unconfirmed:
		m.Kind = callout.TellUnconfirmed
	case c.Escalation > 0:
		m.Kind = callout.Escalate
	}
	_, key, _ := strings.Cut(in.GetIdempotencyKey(), noticeKey(c.ReportID, ""))
	m.Key, _, _ = strings.Cut(key, "/")
	return m, c.LabID, nil
}

// Wake returns the outbox row that reschedules a bill's job. It has no deduplication key: if the deadline changes while
// an earlier row is being delivered, another row is needed.
func (Messages) Wake(labID, billID int64) (outbox.Event, error) {
	payload, err := proto.Marshal(&calloutv1.EvaluateBillRequest{LabId: labID, BillId: billID})
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode wake: %w", err)
	}
	return outbox.Event{Aggregate: aggregate(billID), Kind: kindWake, Payload: payload}, nil
}

// aggregate returns the outbox key that keeps a bill's messages of one kind in order.
func aggregate(billID int64) string { return "bill:" + strconv.FormatInt(billID, 10) }
