package redisdb

import (
	"errors"
	"net/url"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/config"
)

// errURL describes a valid URL. It quotes nothing of the given one, which may contain a password.
var errURL = errors.New(
	"give redis://user:password@host:port (rediss:// with TLS), and for a cluster also ?addr=host:port of another node",
)

// CheckURL returns an error if OpenURL would.
func CheckURL(address config.Secret) error {
	client, err := OpenURL(address)
	if err == nil {
		_ = client.Close()
	}
	return err
}

// OpenURL returns a client for a URL: of a cluster if the URL has addr= parameters, otherwise of one node. It does not
// connect. The caller must close the client.
func OpenURL(address config.Secret) (redis.UniversalClient, error) {
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Host == "" {
		return nil, errURL
	}
	if u.Query().Has("addr") {
		options, err := redis.ParseClusterURL(address.Reveal())
		if err != nil {
			return nil, errURL
		}
		options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
		options.DisableIdentity, options.ContextTimeoutEnabled, options.ConnMaxIdleTime = true, true, idleTimeout
		return redis.NewClusterClient(options), nil
	}
	options, err := redis.ParseURL(address.Reveal())
	if err != nil {
		return nil, errURL
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	options.DisableIdentity, options.ContextTimeoutEnabled, options.ConnMaxIdleTime = true, true, idleTimeout
	return redis.NewClient(options), nil
}
