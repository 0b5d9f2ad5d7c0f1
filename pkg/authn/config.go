package authn

import (
	"errors"

	"github.com/labplatform/labplatform/pkg/config"
)

// Config holds the secrets of the token kinds: one key each, or several during a rotation. An empty secret
// disables its kind of token. All keys differ, so that a token of one kind is never accepted as another.
type Config struct {
	SessionCookieAgeSeconds   int           `env:"SESSION_COOKIE_AGE" envDefault:"28800"`
	JWTSecret                 config.Secret `env:"JWT_SECRET"`
	LegacyJWTSecret           config.Secret `env:"PY2_JWT_SECRET"`
	EphemeralJWTSecret        config.Secret `env:"EPHEMERAL_JWT_SECRET"`
	EphemeralJWTMaxAgeSeconds int           `env:"EPHEMERAL_JWT_MAX_AGE_SECONDS" envDefault:"300"`
	ServiceTokenSecret        config.Secret `env:"SERVICE_TOKEN_SECRET"`
	// Audience is this platform's name in the aud claim of user tokens; tokens without that claim are accepted.
	Audience string `env:"AUTH_AUDIENCE" envDefault:"lab"`
}

// Keys returns the secrets by the names of their settings.
func (c *Config) Keys() config.Keys {
	return config.Keys{
		{"JWT_SECRET", c.JWTSecret}, {"PY2_JWT_SECRET", c.LegacyJWTSecret},
		{"EPHEMERAL_JWT_SECRET", c.EphemeralJWTSecret}, {"SERVICE_TOKEN_SECRET", c.ServiceTokenSecret},
	}
}

// Validate returns an error if SERVICE_TOKEN_SECRET is missing, and for the keys that Keys.Check rejects.
func (c *Config) Validate() error {
	if !c.ServiceTokenSecret.IsSet() {
		return errors.Join(c.Keys().Check(), errors.New(
			"SERVICE_TOKEN_SECRET must be set to the same value in all services: it signs their calls to each other"))
	}
	return c.Keys().Check()
}
