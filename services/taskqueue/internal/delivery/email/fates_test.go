package email_test

import (
	"slices"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// TestTheResultNamesEveryRecipientWithoutTheMessageAndARetryAsksAgain has one accepted recipient, one that is rejected,
// and one that is deferred and then rejected. The result must name those without the message, and a retry must try them
// again.
func TestTheResultNamesEveryRecipientWithoutTheMessageAndARetryAsksAgain(t *testing.T) {
	t.Parallel()
	refused := &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such"}
	later := &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 2, 0}, Message: "later"}
	s := serve(t, script{rcpt: map[string]error{"b@example.org": refused, "c@example.org": later}})
	p := newProvider(t, s, nil, nil)
	try := func(marks []byte) (job.Result, error) {
		data := `{"to":["a@example.org"],"cc":["b@example.org","c@example.org"],"subject":"x","message":"y"}`
		return p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: &job.Body{Task: 2, TaskType: 1, Data: []byte(data), Progress: marks}})
	}
	first, err := try(nil)
	if err == nil || first.Excerpt != "The mail server refused cc 1" {
		t.Errorf("first attempt: %q, %v; want cc 1 named and a retry for cc 2", first.Excerpt, err)
	}
	s.mu.Lock()
	s.script.rcpt["c@example.org"] = refused
	s.mu.Unlock()
	second, err := try(first.Progress)
	if err != nil || second.Excerpt != "The mail server refused cc 1, cc 2" {
		t.Errorf("second attempt: %q, %v; want it finished with both named", second.Excerpt, err)
	}
	s.take("b@example.org")
	s.take("c@example.org")
	if _, err := try(second.Progress); err != nil || len(s.accepted()) != 2 {
		t.Errorf("a retry by a person: %d messages, %v; want one more, for both", len(s.accepted()), err)
	}
}

func TestAQuotedLocalPartStaysQuotedInTheEnvelope(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	_, err := send(t, newProvider(t, s, nil, nil), `{"to":["\"dr rao\"@example.org"],"subject":"x","message":"y"}`)
	if got := s.accepted(); err != nil || len(got) != 1 || !slices.Equal(got[0].to, []string{"dr rao@example.org"}) {
		t.Errorf("%+v, %v; want the server to read the local part in quotes", got, err)
	}
}
