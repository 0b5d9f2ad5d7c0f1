// Package purge deletes old stubs from the index: documents which record that a patient is not, or no longer, in a
// laboratory. They are needed as long as a late event with a lower version could restore the document. Once the change
// topics no longer have such events, the stubs are deleted, each with the next higher version. The document of a
// patient who has returned is thus kept.
package purge

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Stubs reads the stubs of an index. The error is a fault.
type Stubs interface {
	// Live returns the alias of the index.
	Live() string
	// Stubs yields the stubs whose rev is less than below.
	Stubs(ctx context.Context, target string, below int64) iter.Seq2[document.Entry, error]
}

// Writer sends operations to an index. *indexsync.Writer is one.
type Writer interface {
	Write(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error)
}

// Observer counts deleted stubs for metrics.
type Observer interface {
	Purged(stubs int)
}

// Config holds the age at which stubs are deleted; embed it with envPrefix "PURGE_".
type Config struct {
	// After must be longer than the retention of the change topics.
	After time.Duration `env:"AFTER" envDefault:"192h"`
}

// Validate rejects an age below one hour. The service also compares the age with the topics' retention.
func (c *Config) Validate() error {
	if c.After < time.Hour {
		return fmt.Errorf("PURGE_AFTER is %s: it must be longer than the change topics keep their records", c.After)
	}
	return nil
}

// Purger deletes old stubs.
type Purger struct {
	Stubs    Stubs
	Writer   Writer
	Clock    clock.Clock
	Observer Observer
	Config   Config
}

const pageSize = 500

// RunOnce deletes all stubs that are old enough. It is idempotent and can be interrupted. The error is a fault.
func (p *Purger) RunOnce(ctx context.Context) error {
	maker := document.NewMaker(document.RevVersions{})
	before := p.Clock.Now().Add(-p.Config.After).UnixMicro()
	var ops []document.Op
	for stub, err := range p.Stubs.Stubs(ctx, p.Stubs.Live(), before) {
		if err != nil {
			return err
		}
		ops = append(ops, maker.Delete(stub.UserID, stub.Route, document.RevOf(stub.Version)))
		if len(ops) < pageSize {
			continue
		}
		if err := p.remove(ctx, ops); err != nil {
			return err
		}
		ops = nil
	}
	if len(ops) == 0 {
		return nil
	}
	return p.remove(ctx, ops)
}

func (p *Purger) remove(ctx context.Context, ops []document.Op) error {
	fates, err := p.Writer.Write(ctx, p.Stubs.Live(), ops)
	if err != nil {
		return err
	}
	deleted := 0
	for _, fate := range fates {
		switch fate.Verdict {
		case indexsync.Written:
			deleted++
		case indexsync.Poison:
			return outcome.Operator(fmt.Errorf("the index refuses to delete a stub: %s", fate.Kind),
				"look at the log of Elasticsearch")
		}
	}
	p.Observer.Purged(deleted)
	return nil
}
