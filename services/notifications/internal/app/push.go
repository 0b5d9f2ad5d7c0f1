package app

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/service"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/served"
	"github.com/labplatform/labplatform/services/notifications/internal/topics"
)

// Values of PUSH_PROVIDER.
const (
	pushSimulated = "mailbox"
	pushFCM       = "fcm"
	pushOff       = "off"
)

// pushState returns the state of push delivery and adds the loop that updates it. Without a provider there is no loop:
// push is off.
func pushState(s *service.Service, provider device.Topics, queue grpc.ClientConnInterface, m *metrics) *served.Push {
	if provider == nil {
		return served.Disabled(m)
	}
	push := served.New(delivery.Served{TaskQueue: taskqueuev1.NewTaskQueueServiceClient(queue)}, m)
	s.Every("push service", served.Interval, push.RunOnce)
	return push
}

// newTopics returns the push provider that subscribes devices; nil if pushes are off.
func newTopics(s *service.Service, cfg Config) (device.Topics, error) {
	switch cfg.PushProvider {
	case pushSimulated:
		return device.Accepting{}, nil
	case pushOff:
		return nil, nil
	}
	own, err := netguard.OwnAddresses()
	if err != nil {
		return nil, fmt.Errorf("push provider: %w", err)
	}
	client := netguard.New(netguard.Config{Own: own, MaxBody: topics.AnswerBytes})
	s.Close("push provider", func(context.Context) error { client.Close(); return nil })
	access := fcm.NewAccess(client, s.Clock, func() (*fcm.Account, error) { return fcm.ReadAccount(cfg.FCMCredentials) })
	managed, err := fcm.NewTopics(fcm.DefaultTopicsBase, client, access, s.Clock)
	if err != nil {
		return nil, fmt.Errorf("push provider: %w", err)
	}
	return topics.New(managed), nil
}
