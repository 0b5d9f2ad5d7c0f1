package app

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/topics"
)

// The values of PUSH_PROVIDER.
const (
	pushSimulated = "mailbox"
	pushFCM       = "fcm"
	pushOff       = "off"
)

// newTopics returns the push provider of devices, nil when pushes are off.
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
