// Package app assembles the rerun process: its settings, servers and loops.
package app

import (
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	Garbage service.GarbageCollection
	service.Stores
	Mongo  mongo.Config  `envPrefix:"MONGO_"`
	Outbox outbox.Config `envPrefix:"OUTBOX_"`
	Sweep  sweep.Config  `envPrefix:"SWEEP_"`

	// DocumentStore makes every operation respond 400 if false.
	DocumentStore bool `env:"DOCUMENT_DB_ENABLED" absolute:"true" envDefault:"true"`
	service.Webhook
	service.Taskqueue
	// CalloutAddr is the address of the callout service. Without it, changed reports wait in the outbox.
	CalloutAddr string `env:"CALLOUT_ADDR"`
	// CDCAddr is the address of change capture. Without it, the service does not refresh the search index itself.
	CDCAddr string `env:"CDC_ADDR"`
	// ExternalEditAddr is the address of external editing. Without it, callers are not warned of a report that is open in
	// an editor.
	ExternalEditAddr string `env:"EXTERNAL_EDIT_ADDR"`
}
