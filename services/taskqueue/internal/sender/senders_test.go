package sender_test

import (
	"context"
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
	copies "github.com/labplatform/labplatform/services/taskqueue/internal/store/redis"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

var errAway = errors.New("the database is unavailable")

// table is a fake source that returns the rows, or an error.
type table struct {
	rows []sender.Rule
	away bool
}

func (t *table) Senders(context.Context) ([]sender.Rule, error) {
	if t.away {
		return nil, errAway
	}
	return t.rows, nil
}

func TestALaboratoryWithRulesMayNameTheirSendersOnly(t *testing.T) {
	t.Parallel()
	rows := &table{rows: []sender.Rule{
		{LabID: 12, Channel: "email", Sender: "Reports@lab.example"},
		{LabID: 12, Channel: "email", Sender: "@mail.lab.example"},
		{Channel: "sms", Sender: "LABPLT"},
		{LabID: 12, Channel: "sms", Sender: "MYLAB"},
	}}
	s := sender.New(rows, copies.Copies{Client: redistest.Start(t).Client()})
	if !s.Allows(job.Email, 12, task.Sender{Name: "anybody@else.example"}) {
		t.Error("without rules every sender may be named")
	}
	if err := s.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		channel job.Channel
		lab     int64
		name    string
		want    bool
	}{
		{job.Email, 12, "reports@LAB.example", true},
		{job.Email, 12, "anybody@mail.lab.example", true},
		{job.Email, 12, "anybody@evilmail.lab.example", false},
		{job.Email, 12, "reports@lab.example.evil", false},
		{job.Email, 13, "anybody@else.example", true}, // no rule for this laboratory
		{job.SMS, 12, "LABPLT", true},
		{job.SMS, 12, "mylab", true},
		{job.SMS, 13, "MYLAB", false},
		{job.SMS, 13, "LABPLT", true},
		{job.WhatsApp, 12, "graph-main", true},
	} {
		if got := s.Allows(c.channel, c.lab, task.Sender{Name: c.name}); got != c.want {
			t.Errorf("%s of laboratory %d as %s: %v", c.channel, c.lab, c.name, got)
		}
	}
}

func TestTheRulesOutliveTheDatabaseAndTheProcess(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	rows := &table{rows: []sender.Rule{{LabID: 12, Channel: "sms", Sender: "MYLAB"}}}
	s := sender.New(rows, copies.Copies{Client: client})
	if err := s.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows.away = true
	restarted := sender.New(rows, copies.Copies{Client: client})
	for name, one := range map[string]*sender.Senders{"running": s, "restarted": restarted} {
		if err := one.RunOnce(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("%s: got %v, want errAway", name, err)
		}
		if one.Allows(job.SMS, 12, task.Sender{Name: "OTHER"}) || !one.Allows(job.SMS, 12, task.Sender{Name: "MYLAB"}) {
			t.Errorf("%s: the rules are forgotten", name)
		}
	}
	rows.away, rows.rows = false, nil
	if err := s.RunOnce(t.Context()); err != nil || !s.Allows(job.SMS, 12, task.Sender{Name: "OTHER"}) {
		t.Errorf("a removed rule still holds: %v", err)
	}
}

// TestWithSeveralLaboratoriesOnlyAssignedSendersMayBeNamed checks that, with several laboratories, an empty list of
// rules allows no sender.
func TestWithSeveralLaboratoriesOnlyAssignedSendersMayBeNamed(t *testing.T) {
	t.Parallel()
	rows := &table{rows: []sender.Rule{
		{Several: true}, {LabID: 12, Channel: "email", Sender: "@lab.example"}, {LabID: 12, Channel: "email", Sender: "Asha Diagnostics"},
		{Channel: "sms", Sender: "LABPLT"},
	}}
	s := sender.New(rows, copies.Copies{Client: redistest.Start(t).Client()})
	if err := s.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		channel job.Channel
		lab     int64
		named   task.Sender
		want    bool
	}{
		{job.Email, 12, task.Sender{Name: "reports@lab.example"}, true},
		{job.Email, 13, task.Sender{Name: "reports@lab.example"}, false},
		{job.Email, 12, task.Sender{Name: "Asha Diagnostics", Display: true}, true},
		{job.Email, 13, task.Sender{Name: "Asha Diagnostics", Display: true}, false},
		{job.Email, 12, task.Sender{Name: "someone@lab.example", Display: true}, false},
		{job.SMS, 13, task.Sender{Name: "LABPLT"}, true},
		{job.SMS, 13, task.Sender{Name: "LABTWL"}, false},
		{job.WhatsApp, 13, task.Sender{Name: "graph-main"}, false},
	} {
		if got := s.Allows(c.channel, c.lab, c.named); got != c.want {
			t.Errorf("%s of laboratory %d as %+v is allowed: %v, want %v", c.channel, c.lab, c.named, got, c.want)
		}
	}
}
