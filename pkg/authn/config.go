package authn

import (
	"errors"

	"github.com/labplatform/labplatform/pkg/config"
)

// Config holds the secrets of the token kinds, each one key or several during a rotation. An empty secret disables its
// kind; keys are pairwise different, so that a token of one kind never verifies as another.
type Config struct {
	SessionCookieAgeSeconds   int           `env:"SESSION_COOKIE_AGE" envDefault:"28800"`
	JWTSecret                 config.Secret `env:"JWT_SECRET"`
	LegacyJWTSecret           config.Secret `env:"PY2_JWT_SECRET"`
	EphemeralJWTSecret        config.Secret `env:"EPHEMERAL_JWT_SECRET"`
	EphemeralJWTMaxAgeSeconds int           `env:"EPHEMERAL_JWT_MAX_AGE_SECONDS" envDefault:"300"`
	ServiceTokenSecret        config.Secret `env:"SERVICE_TOKEN_SECRET"`
	// Audience is this platform's name in the aud claim of users' tokens; tokens without that claim are taken.
	Audience string `env:"AUTH_AUDIENCE" envDefault:"lab"`
}

// Keys are the secrets by their names.
func (c *Config) Keys() config.Keys {
	return config.Keys{
		{"JWT_SECRET", c.JWTSecret}, {"PY2_JWT_SECRET", c.LegacyJWTSecret},
		{"EPHEMERAL_JWT_SECRET", c.EphemeralJWTSecret}, {"SERVICE_TOKEN_SECRET", c.ServiceTokenSecret},
	}
}

// Validate refuses short and shared secrets.
func (c *Config) Validate() error {
	if !c.ServiceTokenSecret.IsSet() {
		return errors.Join(c.Keys().Check(), errors.New(
			"SERVICE_TOKEN_SECRET must be set: services call each other with it; it is the same for all of them"))
	}
	return c.Keys().Check()
}
