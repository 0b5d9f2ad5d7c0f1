package authn

import (
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/pkg/config"
)

const minSecretBytes = 32

// Config holds the secrets of the token kinds. An empty secret disables its kind; secrets are pairwise
// different, so that a token of one kind never verifies as another.
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

// Validate refuses short and shared secrets.
func (c *Config) Validate() error {
	named := []struct {
		name   string
		secret config.Secret
	}{
		{"JWT_SECRET", c.JWTSecret}, {"PY2_JWT_SECRET", c.LegacyJWTSecret},
		{"EPHEMERAL_JWT_SECRET", c.EphemeralJWTSecret}, {"SERVICE_TOKEN_SECRET", c.ServiceTokenSecret},
	}
	var problems []error
	if !c.ServiceTokenSecret.IsSet() {
		problems = append(
			problems,
			errors.New("SERVICE_TOKEN_SECRET must be set: services call each other with it; it is the same for all of them"),
		)
	}
	seen := map[config.Secret]string{}
	for _, n := range named {
		if !n.secret.IsSet() {
			continue
		}
		if len(n.secret.Reveal()) < minSecretBytes {
			problems = append(problems, fmt.Errorf("%s must have at least %d bytes", n.name, minSecretBytes))
		}
		if other, ok := seen[n.secret]; ok {
			problems = append(problems, fmt.Errorf("%s and %s must differ", other, n.name))
		}
		seen[n.secret] = n.name
	}
	return errors.Join(problems...)
}
