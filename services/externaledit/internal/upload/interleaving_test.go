package upload_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// schedule runs one step at a time, of a randomly chosen goroutine.
type schedule struct {
	dice    *rand.Rand
	waiting chan chan struct{}
}

// step blocks until the schedule lets the caller continue.
func (s *schedule) step() {
	turn := make(chan struct{})
	s.waiting <- turn
	<-turn
}

// run lets waiting goroutines continue, one at a time, until all have ended.
func (s *schedule) run(done <-chan struct{}) {
	var queue []chan struct{}
	for {
		synctest.Wait() // until all goroutines wait in step or have ended
		for more := true; more; {
			select {
			case turn := <-s.waiting:
				queue = append(queue, turn)
			default:
				more = false
			}
		}
		if len(queue) == 0 {
			<-done
			return
		}
		i := s.dice.IntN(len(queue))
		close(queue[i])
		queue = append(queue[:i], queue[i+1:]...)
	}
}

type scheduledReports struct {
	upload.Reports
	s *schedule
	// lose makes some commits succeed but return an error.
	lose bool
	// number is set to the number of the upload when it is announced.
	number *int64
}

// numbered records the number with which an upload is announced.
type numbered struct {
	upload.Locked
	number *int64
}

func (l numbered) Announce(ctx context.Context, u *session.Upload) error {
	*l.number = u.Number
	return l.Locked.Announce(ctx, u)
}

func (r scheduledReports) Session(ctx context.Context, scope authn.LabScope, id int64) (session.Session, error) {
	r.s.step()
	return r.Reports.Session(ctx, scope, id)
}

func (r scheduledReports) Lock(
	ctx context.Context, scope authn.LabScope, id int64, work func(upload.Locked) error,
) error {
	r.s.step()
	err := r.Reports.Lock(ctx, scope, id, func(l upload.Locked) error { return work(numbered{l, r.number}) })
	r.s.step()
	if err == nil && r.lose {
		return errBoom
	}
	return err
}

func (r scheduledReports) Abandon(ctx context.Context, scope authn.LabScope, id int64) (bool, error) {
	r.s.step()
	return r.Reports.Abandon(ctx, scope, id)
}

func (r scheduledReports) Forget(ctx context.Context, scope authn.LabScope, id int64) error {
	r.s.step()
	return r.Reports.Forget(ctx, scope, id)
}

type scheduledFiles struct {
	upload.Files
	s       *schedule
	failing bool
}

func (f scheduledFiles) Put(
	ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader,
) (int64, error) {
	f.s.step()
	n, err := f.Files.Put(ctx, scope, key, contentType, source)
	f.s.step()
	if f.failing {
		return 0, errBoom
	}
	return n, err
}

func (f scheduledFiles) Delete(ctx context.Context, scope authn.LabScope, key string) error {
	f.s.step()
	return f.Files.Delete(ctx, scope, key)
}

// outcome is the result that the client of one upload got.
type outcome struct {
	number int64
	text   string
	files  session.Files
	err    error
}

// TestTwoHundredInterleavings runs uploads, an end of the session and faults in random order. There are only two texts,
// so that a text is saved again after the other.
func TestTwoHundredInterleavings(t *testing.T) {
	t.Parallel()
	seed := uint64(20261122)
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		seed = rand.Uint64()
	}
	t.Logf("from seed %d", seed)
	for i := range uint64(200) {
		t.Run(fmt.Sprint("round ", i), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *fixture) { interleave(t, b, rand.New(rand.NewPCG(seed, i))) })
		})
		if t.Failed() {
			return
		}
	}
}

func interleave(t *testing.T, b *fixture, dice *rand.Rand) {
	t.Helper()
	s := &schedule{dice: dice, waiting: make(chan chan struct{}, 100)}
	uploads := 2 + dice.IntN(3)
	heard, done := make([]outcome, uploads), make(chan struct{})
	finished := make(chan struct{}, uploads+1)
	for i := range uploads {
		failing, lose := dice.IntN(6) == 0, dice.IntN(8) == 0
		heard[i].text = []string{"A", "B"}[dice.IntN(2)]
		go func() {
			u := b.useCase(scheduledReports{b.reports(), s, lose, &heard[i].number}, scheduledFiles{b.files, s, failing})
			heard[i].files, heard[i].err = b.save(u, saying(t, heard[i].text))
			finished <- struct{}{}
		}()
	}
	ends := dice.IntN(3) == 0
	go func() {
		if ends {
			s.step()
			end(b, session.ByAuthor)
		}
		finished <- struct{}{}
	}()
	go func() {
		for range uploads + 1 {
			<-finished
		}
		close(done)
	}()
	s.run(done)
	b.wantNewestAcknowledged(heard)
	b.sweep()
	b.wantNewestAcknowledged(heard)
	b.wantNothingLeft("after the sweeper")
}

// wantNewestAcknowledged checks that the linked files contain the text of the newest acknowledged save, unless a newer
// one was linked although its client got an error. It also checks that they are those of the newest revision, and that
// every acknowledged save has a revision.
func (b *fixture) wantNewestAcknowledged(heard []outcome) {
	b.t.Helper()
	linked, said := b.linked()
	b.wantSaid(said, heard)
	revisions, err := b.store.Revisions(b.t.Context(), b.scope, reportID, session.Page{Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	newest, kept := session.Revision{}, map[session.Files]int64{}
	for _, r := range revisions {
		if kept[r.Files()] = r.Number; r.Number > newest.Number {
			newest = r
		}
	}
	if linked != newest.Files() {
		b.t.Errorf("linked %v, the newest save is %v", linked, newest.Files())
	}
	for _, o := range heard {
		if o.err == nil && kept[o.files] == 0 {
			b.t.Errorf("%s was acknowledged and is no revision", o.text)
		}
	}
}

func (b *fixture) wantSaid(said string, heard []outcome) {
	b.t.Helper()
	var newest outcome
	for _, o := range heard {
		if o.err == nil && o.number > newest.number {
			newest = o
		}
	}
	unanswered := func(o outcome) bool { return o.err != nil && o.number > newest.number && o.text == said }
	if said != newest.text && !slices.ContainsFunc(heard, unanswered) {
		b.t.Errorf("linked %q; the newest acknowledged save, %d, said %q", said, newest.number, newest.text)
	}
}
