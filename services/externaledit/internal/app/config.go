// Package app assembles the external edit process: its settings, servers and loops.
package app

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	Garbage service.GarbageCollection
	service.Stores
	Blob   blob.Config   `envPrefix:"BLOB_"`
	Outbox outbox.Config `envPrefix:"OUTBOX_"`
	Sweep  sweep.Config  `envPrefix:"SWEEP_"`

	// FilesPort is the port that serves download links if the file store is a folder; the path does not matter. S3 serves
	// its own links.
	FilesPort int `env:"FILES_PORT" envDefault:"8012"`
	// TokenSecret signs the tokens of editing sessions.
	TokenSecret config.Secret `env:"TOKEN_SECRET"`
	// TokenTTLSeconds is how long a session lasts without a heartbeat or a save.
	TokenTTLSeconds int `env:"TOKEN_TTL_SECONDS" envDefault:"28800"`
	// SessionMaxSeconds is the maximum duration of a session.
	SessionMaxSeconds int `env:"SESSION_MAX_SECONDS" envDefault:"86400"`
	// RetentionRevisions is how many of the newest saves of a report are kept; RetentionDays is the age up to which saves
	// are kept. The linked save is always kept. 0 sets no minimum; if both are 0, all saves are kept.
	RetentionRevisions int `env:"RETENTION_REVISIONS" envDefault:"0"`
	RetentionDays      int `env:"RETENTION_DAYS" envDefault:"0"`
	// MaxUploads is the maximum number of concurrent uploads. Each needs about 20 MiB of memory.
	MaxUploads int `env:"MAX_UPLOADS" envDefault:"12" min:"1"`
	// DownloadLinkSeconds is how long download links are valid.
	DownloadLinkSeconds int `env:"DOWNLOAD_LINK_SECONDS" envDefault:"900"`
	Live                livefeed.Config
	// RequireAgentHeader rejects uploads without the header X-IS-EXTERNAL-EDIT-REQUEST: true.
	RequireAgentHeader bool `env:"REQUIRE_AGENT_HEADER" envDefault:"false"`
}

func (c *Config) filesAddress() string {
	return net.JoinHostPort(c.Admin.Host, strconv.Itoa(c.FilesPort))
}

func (c *Config) lifetime() session.Lifetime {
	return session.Lifetime{Idle: seconds(c.TokenTTLSeconds), Most: seconds(c.SessionMaxSeconds)}
}

func (c *Config) retention() session.Retention {
	return session.Retention{Newest: c.RetentionRevisions, Age: time.Duration(c.RetentionDays) * 24 * time.Hour}
}

const longestLink = 7 * 24 * 60 * 60 // in seconds

// Validate rejects invalid secrets and durations.
func (c *Config) Validate() error {
	keys := append(c.Auth.Keys(), config.Keys{
		{"BLOB_SIGNING_SECRET", c.Blob.SigningSecret}, {"TOKEN_SECRET", c.TokenSecret},
	}...)
	problems := []error{keys.Check()}
	if !c.TokenSecret.IsSet() {
		problems = append(problems, errors.New("TOKEN_SECRET must be set: the tokens of sessions are signed with it"))
	}
	for name, seconds := range map[string]int{
		"TOKEN_TTL_SECONDS": c.TokenTTLSeconds, "SESSION_MAX_SECONDS": c.SessionMaxSeconds,
	} {
		if seconds <= 0 {
			problems = append(problems, fmt.Errorf("EXTERNAL_EDIT_%s is %d: use a number above 0", name, seconds))
		}
	}
	if c.RetentionRevisions < 0 || c.RetentionDays < 0 {
		problems = append(problems, errors.New("EXTERNAL_EDIT_RETENTION_REVISIONS and EXTERNAL_EDIT_RETENTION_DAYS must not be"+
			" below 0, which keeps everything"))
	}
	if c.DownloadLinkSeconds <= 0 || c.DownloadLinkSeconds > longestLink {
		problems = append(problems, fmt.Errorf("EXTERNAL_EDIT_DOWNLOAD_LINK_SECONDS is %d: use 1 to %d",
			c.DownloadLinkSeconds, longestLink))
	}
	return errors.Join(problems...)
}
