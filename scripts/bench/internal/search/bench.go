package search

import (
	"context"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
	cdc "github.com/labplatform/labplatform/services/cdc/inprocess"
	"github.com/labplatform/labplatform/services/search/inprocess"
)

type bench struct {
	report  *report.Report
	sizes   sizes
	sandbox *sandbox.Sandbox
	client  *elastic.Client
	corpus  *corpus
	mix     *mix

	searcher                  *inprocess.Searcher
	ours, peer, plain, remote *side // remote is our search through the REST port
}

// with starts a platform whose index holds the patients, and runs measure on it.
func with(ctx context.Context, r *report.Report, measure func(*bench) error) error {
	s, err := stack.New(
		"LAB_PIPELINE=on",
		"LAB_SEED=none",
		"SEARCH_LOG_LEVEL=WARN",
		"SEARCH_RATE_LIMIT_PER_MINUTE=1000000",
		"CDC_LOG_LEVEL=WARN",
	)
	if err != nil {
		return err
	}
	defer s.Remove()
	service.GarbageCollection{GOGC: os.Getenv("GOGC")}.Delay() // as in the service: its search runs in this process
	b := &bench{report: r, sizes: chosen(r.Quick), sandbox: s}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer func() { _ = b.client.Close() }()
	return measure(b)
}

// prepare generates patients and texts while the platform starts.
func (b *bench) prepare(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error {
		took, err := b.sandbox.Up(ctx)
		b.report.Progress("a platform of its own is up after %.1f s", took.Seconds())
		return err
	})
	both.Go(func() error {
		begin := time.Now()
		b.corpus = newCorpus(b.sizes)
		b.report.Progress(
			"%d patients of %d laboratories and %d texts are made up after %.1f s",
			b.sizes.patients,
			b.sizes.laboratories,
			len(b.corpus.texts),
			time.Since(begin).Seconds(),
		)
		return nil
	})
	if err := both.Wait(); err != nil {
		return err
	}
	// While the index is measured, only the engine and the service run.
	for _, name := range []string{"cdc", "connector", "kafka"} {
		if err := b.sandbox.Kill(name); err != nil {
			return err
		}
	}
	if err := b.open(); err != nil {
		return err
	}
	return b.fill(ctx)
}

// open connects with the service's own settings, including its number of connections.
func (b *bench) open() (err error) {
	b.client, err = elastic.Open(
		elastic.Config{
			URLs:           []string{b.sandbox.Endpoints.Elasticsearch},
			MaxRetries:     3,
			RequestTimeout: 30,
			MaxConnections: 20,
		},
		elastic.Deps{},
	)
	if err != nil {
		return err
	}
	if b.searcher, err = inprocess.New(b.client); err != nil {
		return err
	}
	b.ours = &side{
		name:   "ours",
		strict: true,
		find: func(ctx context.Context, labID int64, text string) ([]inprocess.Hit, error) {
			return b.searcher.Search(ctx, labID, text, pageSize)
		},
	}
	b.peer = &side{name: peerName, find: multiMatch(b.client, "AUTO")}
	b.plain = &side{name: plainName, find: multiMatch(b.client, "0")}
	b.remote = &side{name: "rest", strict: true}
	b.remote.find, err = b.throughREST()
	return err
}

func (b *bench) fill(ctx context.Context) error {
	begin := time.Now()
	if err := cdc.Fill(ctx, b.client, b.corpus.rows()); err != nil {
		return err
	}
	b.report.Progress("the index is filled after %.1f s", time.Since(begin).Seconds())
	return b.settle(ctx)
}

// spent is the CPU time of the engine and of this process.
type spent struct{ engine, own time.Duration }

func (b *bench) cpu() (s spent, err error) {
	if s.engine, err = process.CPU(b.sandbox.PID("elasticsearch")); err != nil {
		return s, err
	}
	s.own, err = process.CPU(os.Getpid())
	return s, err
}
