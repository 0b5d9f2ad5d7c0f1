package sender_test

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
	copies "github.com/labplatform/labplatform/services/taskqueue/internal/store/redis"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

type sent struct{ n int }

func (s *sent) Handle(context.Context, worker.Delivery) (job.Result, error) {
	s.n++
	return job.Result{Sent: true}, nil
}

func TestSendersAreAskedAtTheMomentOfSending(t *testing.T) {
	t.Parallel()
	rows := &table{rows: []sender.Rule{
		{LabID: 12, Channel: "sms", Sender: "MYLAB"}, {LabID: 12, Channel: "email", Sender: "@lab.example"},
	}}
	senders, passed := sender.New(rows, copies.Copies{Client: redistest.Start(t).Client()}), &sent{}
	gate := sender.NewGate(senders, passed)
	ids := job.NewGenerator(clock.System{})
	deliver := func(c job.Channel, lab int64, data string) string {
		t.Helper()
		id := ids.Next(0, job.Lane{Channel: c})
		before := passed.n
		_, err := gate.Handle(t.Context(), worker.Delivery{ID: id, Body: &job.Body{LabID: lab, Data: []byte(data)}})
		if err != nil {
			return job.AsFailure(err).Reason
		}
		if passed.n == before {
			return "lost"
		}
		return "sent"
	}
	const named = `{"senderId":"MYLAB"}`
	if got := deliver(job.SMS, 12, named); got != "senders_unknown" {
		t.Errorf("before any rules are known: %s", got)
	}
	if err := senders.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		channel job.Channel
		lab     int64
		data    string
		want    string
	}{
		{job.SMS, 12, named, "sent"},
		{job.SMS, 12, `{}`, "sent"},
		{job.SMS, 12, `{"senderId":"OTHER"}`, "sender_refused"},
		{job.SMS, 12, `{"senderId":"MYLAB","config":{"provider":"lab7-gateway"}}`, "sender_refused"},
		{job.SMS, 13, `{"config":{"provider":"lab7-gateway"}}`, "sent"},
		{job.SMS, 0, `{"senderId":"OTHER"}`, "sent"},
		{job.Email, 12, `{"sender_email":"Reports <reports@lab.example>"}`, "sent"},
		{job.Email, 12, `{"sender_email":"reports@else.example"}`, "sender_refused"},
		{job.WhatsApp, 12, `{"senderId":"OTHER","config":{"provider":"main"}}`, "sent"},
	} {
		if got := deliver(c.channel, c.lab, c.data); got != c.want {
			t.Errorf("%v of laboratory %d, %s: %s, want %s", c.channel, c.lab, c.data, got, c.want)
		}
	}
	rows.rows = append(rows.rows, sender.Rule{Several: true}, sender.Rule{LabID: 12, Channel: "email", Sender: "Reports"})
	if err := senders.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		`{"sender_email":"Reports <reports@lab.example>"}`:                      "sent",
		`{"sender_email":"Other Hospital <reports@lab.example>"}`:               "sender_refused",
		`{"sender_email":"reports@lab.example","sender_name":"Other Hospital"}`: "sender_refused",
	} {
		if got := deliver(job.Email, 12, data); got != want {
			t.Errorf("with several laboratories, %s: %s, want %s", data, got, want)
		}
	}
	rows.rows = []sender.Rule{{LabID: 12, Channel: "sms", Sender: "NEWNAME"}}
	if err := senders.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := deliver(job.SMS, 12, named); got != "sender_refused" {
		t.Errorf("after its rule was taken away: %s", got)
	}
}
