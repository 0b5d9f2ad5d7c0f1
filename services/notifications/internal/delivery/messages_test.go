package delivery_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// TestAnUrgentPushOutlastsAnOutageOfTheProvider: the provider of push messages fails for half an hour. The queue's three
// retries end after two minutes, and escalations go to the laboratory only, so that the devices of the clinic would never
// get the critical result. Other pushes keep the queue's default.
func TestAnUrgentPushOutlastsAnOutageOfTheProvider(t *testing.T) {
	t.Parallel()
	lab, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	event, err := delivery.Messages{}.Push(lab, 1, []notify.Push{{Topic: "a", Urgent: true}, {Topic: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	var request taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(event.Payload, &request); err != nil {
		t.Fatal(err)
	}
	if urgent, other := request.GetTasks()[0], request.GetTasks()[1]; urgent.GetRetry() != 10 || other.Retry != nil {
		t.Errorf("retries %d of the urgent push and %d of the other one, want 10 and the default", urgent.GetRetry(), other.GetRetry())
	}
}
