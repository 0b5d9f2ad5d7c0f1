package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	settings "github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

func TestAPasswordIsProvedInEveryWay(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		c := cluster(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "cdc", "s3cret"), kfake.SeedTopics(1, "lab.lab.user_meta"))
		for password, works := range map[settings.Secret]bool{"s3cret": true, "wrong": false} {
			with := broker.Config{Brokers: c.ListenAddrs(), Version: "3.6.0", User: "cdc", Password: password, Mechanism: mechanism}
			err := broker.Read(t.Context(), with, "lab.lab.user_meta", func(change.Record, int64) error { return nil })
			if works != (err == nil) {
				t.Errorf("%s, and the password is right: %t, gave %v", mechanism, works, err)
			}
		}
	}
}
