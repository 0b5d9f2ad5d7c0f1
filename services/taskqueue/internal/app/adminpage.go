package app

import (
	"errors"
	"slices"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app/queuepage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

// AdminPageConfig holds the settings of the operators' page.
type AdminPageConfig struct {
	// Token grants access to the page. If it is empty, there is no page unless Open is set.
	Token config.Secret `env:"TOKEN"`
	// Open serves the page to anyone with access to the admin port if there is no token.
	Open bool `env:"OPEN" envDefault:"false" danger:"true: without a token, anyone who reaches the port can change jobs"`
	// ShowPayloads shows the payloads of jobs, which contain patient data.
	ShowPayloads bool `env:"SHOW_PAYLOADS" envDefault:"false" danger:"true: the page shows what jobs carry, which is about patients"`
}

const shortestToken = 16

// Validate rejects a token that is short enough to be guessed.
func (c *AdminPageConfig) Validate() error {
	if slices.ContainsFunc(c.Token.Keys(), func(token []byte) bool { return len(token) < shortestToken }) {
		return errors.New("TASKQUEUE_ADMIN_TOKEN is shorter than 16 characters; make one with: openssl rand -base64 32")
	}
	return nil
}

// openAdminPage adds the operators' page.
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
