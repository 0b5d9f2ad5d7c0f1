package app

import (
	"errors"
	"slices"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app/queuepage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

// AdminPageConfig is the page of the people who run the queue.
type AdminPageConfig struct {
	// Token lets people use the page; without one there is no page, unless it is open.
	Token config.Secret `env:"TOKEN"`
	// Open lets everybody who reaches the admin port use the page when there is no token.
	Open bool `env:"OPEN" envDefault:"false" danger:"true: without a token, anyone who reaches the port can change jobs"`
	// ShowPayloads shows what jobs carry, which is of patients.
	ShowPayloads bool `env:"SHOW_PAYLOADS" envDefault:"false" danger:"true: the page shows what jobs carry, which is about patients"`
}

const shortestToken = 16

// Validate refuses a token that can be guessed.
func (c *AdminPageConfig) Validate() error {
	if slices.ContainsFunc(c.Token.Keys(), func(token []byte) bool { return len(token) < shortestToken }) {
		return errors.New("TASKQUEUE_ADMIN_TOKEN is shorter than 16 characters; make one with: openssl rand -base64 32")
	}
	return nil
}

// openAdminPage adds the page of operators.
func (b *builder) openAdminPage() error {
	page := &b.cfg.AdminPage
	if !page.Token.IsSet() && !page.Open {
		return nil
	}
	o := &operate.Operator{Queue: b.gate, Jobs: b.server.Jobs, Clock: b.redisTime, Audit: b.Audit,
		Providers:    func() []operate.Provider { return rowsOf(b.providers) },
		ShowPayloads: page.ShowPayloads}
	if b.keeper != nil {
		o.Keeper = b.keeper
	}
	b.AdminPage(queuepage.Path, queuepage.Handler(o, page.Token, b.Log))
	return nil
}
