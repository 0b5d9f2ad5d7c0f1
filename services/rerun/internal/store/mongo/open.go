package mongo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

const (
	connectTimeout   = 5 * time.Second
	operationTimeout = 10 * time.Second
	poolSize         = 20
	// idleTimeout closes idle connections before a server or firewall does, because the driver notices a closed connection
	// only after a write on it has failed.
	idleTimeout = 20 * time.Second
)

// Config holds the settings of the document store. Nest it with envPrefix "MONGO_".
type Config struct {
	// URI may hold a password, so its type is secret.
	URI      config.Secret `env:"URI" envDefault:"mongodb://127.0.0.1:27017/"`
	Database string        `env:"DATABASE" envDefault:"lab"`
	// TLS names certificate files. Without them, the URI defines the encryption, with the authorities that the system
	// trusts.
	TLS tlsfiles.Client
}

// Validate rejects a URI that cannot be parsed and an empty database name.
func (c *Config) Validate() error {
	var problems []error
	u, err := url.Parse(c.URI.Reveal())
	if err != nil || (u.Scheme != "mongodb" && u.Scheme != "mongodb+srv") || u.Host == "" {
		problems = append(problems, errors.New("MONGO_URI must have the form mongodb://host:27017/"))
	}
	if c.Database == "" {
		problems = append(problems, errors.New("MONGO_DATABASE must not be empty"))
	}
	return errors.Join(problems...)
}

// Open returns the database without connecting: an unavailable store makes the service not ready but does not stop it.
// Writes are acknowledged by a majority and journaled. tracers may be nil. The caller closes the database with Close.
func Open(cfg Config, tracers trace.TracerProvider) (*mongo.Database, error) {
	settings, err := clientOptions(cfg)
	if err != nil {
		return nil, err
	}
	if tracers != nil {
		settings.SetMonitor(newTracing(tracers))
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, fmt.Errorf("open document store: %w", err)
	}
	return client.Database(cfg.Database), nil
}

func clientOptions(cfg Config) (*options.ClientOptions, error) {
	journaled := true
	settings := options.Client().
		SetConnectTimeout(connectTimeout).
		SetServerSelectionTimeout(connectTimeout).
		SetTimeout(operationTimeout).
		SetMaxPoolSize(poolSize).
		SetMaxConnIdleTime(idleTimeout).
		SetReadPreference(readpref.Primary()).
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journaled}).
		ApplyURI(cfg.URI.Reveal()) // last, so that operators can override all of these in the URI
	if secure := cfg.TLS.Configuration(); secure != nil {
		// The driver keeps the configuration for all its connections, so replaced files require a restart.
		configuration, err := secure()
		if err != nil {
			return nil, fmt.Errorf("document store TLS: %w", err)
		}
		settings.SetTLSConfig(configuration)
	}
	return settings, nil
}

// Ping returns an error if the store does not respond.
func Ping(ctx context.Context, db *mongo.Database) error {
	if err := db.Client().Ping(ctx, readpref.Primary()); err != nil {
		return fmt.Errorf("ping document store: %w", err)
	}
	return nil
}

// Close disconnects the client of db.
func Close(ctx context.Context, db *mongo.Database) error {
	if err := db.Client().Disconnect(ctx); err != nil {
		return fmt.Errorf("close document store: %w", err)
	}
	return nil
}

// IsDuplicate reports whether err is a violation of a unique index.
func IsDuplicate(err error) bool { return mongo.IsDuplicateKeyError(err) }

// IsUnavailable reports whether the store could not be reached or did not respond in time.
func IsUnavailable(err error) bool {
	return mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.Is(err, mongo.ErrClientDisconnected)
}
