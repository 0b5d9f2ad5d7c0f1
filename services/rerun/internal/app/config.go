// Package app owns the rerun process: its settings and the list of what runs in it.
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

	// DocumentStore false makes every operation answer 400.
	DocumentStore bool `env:"DOCUMENT_DB_ENABLED" absolute:"true" envDefault:"true"`
	service.Webhook
	service.Taskqueue
	// CalloutAddr may be empty: then changed reports wait in the outbox for a deployment that has a callout.
	CalloutAddr string `env:"CALLOUT_ADDR"`
	// CDCAddr may be empty: then the search index is refreshed by change capture alone.
	CDCAddr string `env:"CDC_ADDR"`
	// ExternalEditAddr may be empty: then no one is warned of a report that is open in an editor.
	ExternalEditAddr string `env:"EXTERNAL_EDIT_ADDR"`
}
