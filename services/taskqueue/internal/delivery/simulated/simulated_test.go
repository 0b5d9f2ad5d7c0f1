package simulated_test

import (
	"context"
	"net/mail"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/simulated"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

type sink struct{ list []mailbox.Message }

func (s *sink) Add(_ context.Context, list ...mailbox.Message) error {
	s.list = append(s.list, list...)
	return nil
}

func deliver(t *testing.T, c job.Channel, taskNumber int, data string) (mailbox.Message, error) {
	t.Helper()
	id := job.NewGenerator(clock.System{}).Next(0, job.Lane{Channel: c})
	s := &sink{}
	at := clock.Fixed(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	_, err := simulated.New(s, at).Handle(t.Context(), worker.Delivery{ID: id, Attempt: 1, Body: &job.Body{Task: taskNumber, TaskType: 1, Data: []byte(data)}})
	if len(s.list) != 1 {
		t.Fatalf("%d messages, %v", len(s.list), err)
	}
	return s.list[0], err
}

func TestMessagesAreRenderedAsAProviderGetsThem(t *testing.T) {
	t.Parallel()
	sms, err := deliver(t, job.SMS, 1, `{"contact":"09812345678","countryCode":91,"message":"Your code is 123","senderId":"LABX"}`)
	if err != nil || sms.To[0] != "+919812345678" || sms.Body != "Your code is 123" || !strings.Contains(sms.Notes[0], "GSM-7") || sms.Kind != "OTP" {
		t.Errorf("%+v, %v", sms, err)
	}
	email, err := deliver(t, job.Email, 2, `{"to":["a@b.example"],"bcc":["c@d.example"],"subject":"Grüße\r\nX-Evil: 1","message":"no","template":"<b>é</b>","is_template":1,"sender_name":"Lab","sender_email":"lab@x.example"}`)
	if err != nil || email.Body != "<b>é</b>" {
		t.Fatalf("got %+v, %v, want <b>é</b>", email, err)
	}
	parsed, err := mail.ReadMessage(strings.NewReader(email.Raw))
	if err != nil || parsed.Header.Get("X-Evil") != "" || parsed.Header.Get("To") != "<a@b.example>" || strings.Contains(email.Raw, "c@d.example") {
		t.Errorf("%v, %v", parsed.Header, err)
	}
	push, err := deliver(t, job.Push, 3, `{"tokens":["t1","t2"],"title":"Ready","data":{"id":"7"},"ttl":60,"priority":"high"}`)
	if err != nil || push.Body != `{"message":{"token":"t1","notification":{"title":"Ready"},"data":{"id":"7"},"android":{"priority":"high","ttl":"60s"}}}` {
		t.Errorf("%s, %v", push.Body, err)
	}
	chat, err := deliver(t, job.WhatsApp, 6, `{"contact":9812345678,"countryCode":"91","template":"welcome","params":["Asha"]}`)
	if err != nil || chat.To[0] != "+919812345678" || !strings.Contains(chat.Body, `"template":{"name":"welcome","language":{"code":"en"},"components":[{"type":"body","parameters":[{"type":"text","text":"Asha"}]}]}`) {
		t.Errorf("%s, %v", chat.Body, err)
	}
}

func TestMagicRecipientsFail(t *testing.T) {
	t.Parallel()
	_, temporary := deliver(t, job.SMS, 1, `{"contact":"0000000001","message":"x"}`)
	if f := job.AsFailure(temporary); temporary == nil || f.Permanent || f.Doubtful {
		t.Errorf("1: %+v", f)
	}
	if _, err := deliver(t, job.SMS, 1, `{"contact":"0000000002","message":"x"}`); !job.AsFailure(err).Permanent {
		t.Errorf("2: %v", err)
	}
	if _, err := deliver(t, job.SMS, 1, `{"contact":"0000000004","message":"x"}`); !job.AsFailure(err).Doubtful {
		t.Errorf("4: %v", err)
	}
	if _, err := deliver(t, job.Email, 2, `{"to":["permanent@outbox.invalid"],"message":"x"}`); !job.AsFailure(err).Permanent {
		t.Errorf("e-mail: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		system := clock.System{}
		begun := system.Now()
		if _, err := deliver(t, job.SMS, 1, `{"contact":"0000000003","message":"x"}`); err != nil || system.Now().Sub(begun) < 5*time.Second {
			t.Errorf("3: %v", err)
		}
	})
}
