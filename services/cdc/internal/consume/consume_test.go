package consume_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

const topic = "lab.lab.userDetails"

// fixture is a consumer of one partition to which the test adds records.
type fixture struct {
	*recorder
	consumer *consume.Consumer
	records  chan change.Record
	sink     *scriptedSink
	letters  *scriptedLetters
}

func newFixture(t *testing.T, configure func(*consume.Config)) *fixture {
	t.Helper()
	cfg := consume.Config{BatchRecords: 10, BatchBytes: 1 << 20, Linger: 5 * time.Millisecond, ApplyTimeout: 20 * time.Second,
		FirstRetry: 100 * time.Millisecond, MaxRetry: 10 * time.Second, InFlightBytes: 1 << 20, DeadLetterPercent: 100}
	if configure != nil {
		configure(&cfg)
	}
	b := &fixture{recorder: &recorder{}, records: make(chan change.Record), sink: &scriptedSink{}, letters: &scriptedLetters{}}
	b.consumer = consume.New(consume.Deps{Config: cfg, Sinks: map[string]consume.Sink{change.UserDetails: b.sink}, DeadLetters: b.letters,
		Observer: b, Clock: clock.System{}, Jitter: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler)})
	return b
}

// run processes the claim until its end.
func (b *fixture) run(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.consumer.Run(ctx, consume.Claim{Topic: topic, Partition: 3, Initial: 0, Records: b.records, Mark: b.mark,
			HighWater: func() int64 { return 100 }, Pause: b.pause, Resume: b.resume})
	}()
	return done
}

func (b *fixture) feed(from, to int64) {
	for offset := from; offset < to; offset++ {
		b.records <- change.Record{Topic: topic, Partition: 3, Offset: offset, Value: []byte("value"), Timestamp: time.Now()}
	}
}

// recorder is a fake observer and a fake broker for the claim.
type recorder struct {
	mu      sync.Mutex
	marks   []int64
	ended   map[outcome.Kind]int
	seen    int
	given   int // records returned unfinished
	failed  int
	retried int
	pauses  int
	resumes int
}

func (r *recorder) mark(offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, offset)
}
func (r *recorder) pause()            { r.mu.Lock(); defer r.mu.Unlock(); r.pauses++ }
func (r *recorder) resume()           { r.mu.Lock(); defer r.mu.Unlock(); r.resumes++ }
func (r *recorder) DeadLetterFailed() {}
func (r *recorder) Consumed(_ string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen += n
}
func (r *recorder) Returned(_ string, n int) { r.mu.Lock(); defer r.mu.Unlock(); r.given += n }
func (r *recorder) Failed(_ string, n int)   { r.mu.Lock(); defer r.mu.Unlock(); r.failed += n }
func (r *recorder) Retried(_ string, n int)  { r.mu.Lock(); defer r.mu.Unlock(); r.retried += n }
func (r *recorder) Finished(_ context.Context, _ string, results []outcome.Result, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = map[outcome.Kind]int{}
	}
	for _, one := range results {
		r.ended[one.Kind]++
	}
}

func (r *recorder) marked() []int64 { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.marks) }

// scriptedSink returns its faults one by one. After that, it accepts everything with the results in kinds.
type scriptedSink struct {
	mu      sync.Mutex
	faults  []error
	kinds   func(offset int64) outcome.Kind
	panicAt int64         // offset of the record that causes a panic; 0: none
	each    time.Duration // time per record
	applied [][]int64
}

func (s *scriptedSink) Apply(ctx context.Context, batch []change.Record) ([]outcome.Result, error) {
	s.mu.Lock()
	each := s.each
	s.mu.Unlock()
	if each > 0 {
		if err := lifecycle.Pause(ctx, time.Duration(len(batch))*each); err != nil {
			return nil, outcome.Retry(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) > 0 {
		err := s.faults[0]
		s.faults = s.faults[1:]
		return nil, err
	}
	var offsets []int64
	var results []outcome.Result
	for _, r := range batch {
		if s.panicAt != 0 && r.Offset == s.panicAt {
			panic("a row's value")
		}
		kind := outcome.Applied
		if s.kinds != nil {
			kind = s.kinds(r.Offset)
		}
		offsets, results = append(offsets, r.Offset), append(results, outcome.Result{Kind: kind})
	}
	s.applied = append(s.applied, offsets)
	return results, nil
}

type scriptedLetters struct {
	mu     sync.Mutex
	faults []error
	sent   []int64
	reason []string
}

func (l *scriptedLetters) Send(_ context.Context, r change.Record, result outcome.Result, _ int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) > 0 {
		err := l.faults[0]
		l.faults = l.faults[1:]
		return err
	}
	l.sent, l.reason = append(l.sent, r.Offset), append(l.reason, result.Reason)
	return nil
}

func TestRecordsAreMarkedBatchByBatchInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		done := b.run(t.Context())
		b.feed(0, 25)
		close(b.records)
		<-done
		if diff := cmp.Diff([]int64{10, 20, 25}, b.marked()); diff != "" {
			t.Error(diff)
		}
		if got := b.consumer.Status().Partitions(); len(got) != 0 {
			t.Errorf("an ended claim is still listed: %v", got)
		}
	})
}

func TestALoneRecordWaitsNoLongerThanTheLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		done := b.run(t.Context())
		begin := time.Now()
		b.feed(0, 1)
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]int64{1}, b.marked()); diff != "" {
			t.Errorf("after %v: %s", time.Since(begin), diff)
		}
		close(b.records)
		<-done
	})
}

func TestAFaultPausesThePartitionAndMarksNothingUntilItIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.faults = []error{outcome.Retry(errors.New("index away")), outcome.Retry(errors.New("index away"))}
		done := b.run(t.Context())
		b.feed(0, 3)
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if len(b.marked()) != 0 {
			t.Errorf("marked %v while the sink was away", b.marked())
		}
		if p := b.consumer.Status().Partitions()[0]; p.Fault == nil || p.Fault.Operator || p.Lag != 100 {
			t.Errorf("the partition does not show its fault: %+v", p)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]int64{3}, b.marked()); diff != "" {
			t.Error(diff)
		}
		if b.pauses != 1 || b.resumes != 1 || b.failed != 3 || b.retried != 6 {
			t.Errorf("pauses %d, resumes %d, failed %d, retried %d", b.pauses, b.resumes, b.failed, b.retried)
		}
		if paused := b.consumer.Status().Paused(); paused != 300*time.Millisecond {
			t.Errorf("paused for %v, not the two backoffs of 100 and 200 ms", paused)
		}
		close(b.records)
		<-done
	})
}

// TestABatchThatTakesLongerThanATryIsDoneInParts: ten records take 70 s, but an attempt is limited to 20 s. The batch
// must be split, or it would be retried forever.
func TestABatchThatTakesLongerThanATryIsDoneInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.each = 7 * time.Second
		done := b.run(t.Context())
		b.feed(0, 10)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([][]int64{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}, b.sink.applied); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int64{10}, b.marked()); diff != "" {
			t.Error(diff)
		}
		close(b.records)
		<-done
	})
}

// TestPartsThatAreDoneStayDoneOverAFault checks that a finished part is not applied again if a later part fails.
func TestPartsThatAreDoneStayDoneOverAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.each = 30 * time.Second // too long for a single record
		done := b.run(t.Context())
		b.feed(0, 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		if p := b.consumer.Status().Partitions()[0]; p.Fault == nil || len(b.marked()) != 0 {
			t.Errorf("fault %v, marked %v", p.Fault, b.marked())
		}
		b.sink.mu.Lock()
		b.sink.each = 15 * time.Second
		b.sink.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([][]int64{{0}, {1}}, b.sink.applied); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int64{2}, b.marked()); diff != "" {
			t.Error(diff)
		}
		close(b.records)
		<-done
	})
}

func TestAClaimThatIsTakenAwayDuringAFaultEndsAtOnceAndUnmarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.faults = slices.Repeat([]error{outcome.Operator(errors.New("no table"), "run cdc migrate")}, 1000)
		done := b.run(t.Context())
		b.feed(0, 40) // more than a batch, so that some are received during the wait
		begin := time.Now()
		close(b.records)
		<-done
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the claim went on for %v", waited)
		}
		if len(b.marked()) != 0 {
			t.Errorf("marked %v", b.marked())
		}
	})
}

func TestWhatWasFetchedDuringAFaultIsProcessedAfterItInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.faults = slices.Repeat([]error{outcome.Retry(errors.New("deadlock"))}, 3)
		done := b.run(t.Context())
		b.feed(0, 35)
		time.Sleep(2 * time.Second)
		b.feed(35, 38)
		close(b.records)
		<-done
		var order []int64
		for _, batch := range b.sink.applied {
			order = append(order, batch...)
		}
		if !slices.IsSorted(order) || len(order) != 38 {
			t.Errorf("applied %v", b.sink.applied)
		}
		if marks := b.marked(); marks[len(marks)-1] != 38 || !slices.IsSorted(marks) {
			t.Errorf("marks %v", marks)
		}
	})
}

func TestADeadRecordIsMarkedOnlyOnceItsLetterIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.kinds = func(offset int64) outcome.Kind {
			if offset == 1 {
				return outcome.Dead
			}
			return outcome.Applied
		}
		b.letters.faults = []error{errors.New("broker away"), errors.New("broker away")}
		done := b.run(t.Context())
		b.feed(0, 3)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if len(b.marked()) != 0 {
			t.Errorf("marked %v without a letter", b.marked())
		}
		close(b.records)
		<-done
		if len(b.marked()) != 0 {
			t.Errorf("an ended claim marked %v without a letter", b.marked())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.kinds = func(int64) outcome.Kind { return outcome.Dead }
		b.letters.faults = []error{errors.New("broker away")}
		done := b.run(t.Context())
		b.feed(0, 3)
		time.Sleep(time.Second)
		close(b.records)
		<-done
		if diff := cmp.Diff([]int64{0, 1, 2}, b.letters.sent); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int64{3}, b.marked()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOnlyTheRecordThatMakesTheSinkPanicIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.sink.panicAt = 4
		done := b.run(t.Context())
		b.feed(0, 10)
		close(b.records)
		<-done
		if diff := cmp.Diff([]int64{4}, b.letters.sent); diff != "" {
			t.Error(diff)
		}
		if b.letters.reason[0] != "panic" || b.ended[outcome.Applied] != 9 || b.ended[outcome.Dead] != 1 {
			t.Errorf("reasons %v, ends %v", b.letters.reason, b.ended)
		}
	})
}

func TestATopicThatNobodyAskedForIsSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		done := b.run(t.Context())
		b.records <- change.Record{Topic: "lab.lab.labs", Partition: 3, Offset: 7}
		close(b.records)
		<-done
		if diff := cmp.Diff([]int64{8}, b.marked()); diff != "" || b.ended[outcome.Skipped] != 1 {
			t.Errorf("%s, ends %v", diff, b.ended)
		}
	})
}

// TestTheMarkNeverOvertakesTheWork runs random faults and random ends of the claim. Every record before the mark must
// be applied or a dead letter, no later record may count as finished, and the outcomes must add up.
func TestTheMarkNeverOvertakesTheWork(t *testing.T) {
	t.Parallel()
	property.Check(t, func(rt *rapid.T) {
		faults := rapid.SliceOfN(rapid.SampledFrom([]error{nil, nil, outcome.Retry(errors.New("away")), outcome.Operator(errors.New("no"), "do")}), 0, 20).Draw(rt, "faults")
		letters := rapid.SliceOfN(rapid.SampledFrom([]error{nil, errors.New("away")}), 0, 10).Draw(rt, "letters")
		kinds := rapid.SliceOfN(rapid.SampledFrom(outcome.Kinds()), 60, 60).Draw(rt, "kinds")
		total := rapid.Int64Range(0, 60).Draw(rt, "records")
		patience := time.Duration(rapid.IntRange(0, 3000).Draw(rt, "patience")) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			b := newFixture(t, nil)
			b.sink.faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
			b.letters.faults = slices.DeleteFunc(letters, func(err error) bool { return err == nil })
			b.sink.kinds = func(offset int64) outcome.Kind { return kinds[offset] }
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			done := b.run(ctx)
			for offset := range total {
				select {
				case b.records <- change.Record{Topic: topic, Partition: 3, Offset: offset}:
				case <-done:
				}
			}
			cancel()
			<-done
			checkMarks(t, b, kinds)
		})
	})
}

func checkMarks(t *testing.T, b *fixture, kinds []outcome.Kind) {
	t.Helper()
	mark := int64(0)
	for _, m := range b.marked() {
		if m <= mark {
			t.Fatalf("marks go back: %v", b.marked())
		}
		mark = m
	}
	applied := map[int64]bool{}
	for _, batch := range b.sink.applied {
		for _, offset := range batch {
			applied[offset] = true
		}
	}
	for offset := range mark {
		if !applied[offset] || kinds[offset] == outcome.Dead && !slices.Contains(b.letters.sent, offset) {
			t.Fatalf("offset %d lies before the mark %d and is not done", offset, mark)
		}
	}
	sum := 0
	for _, n := range b.ended {
		sum += n
	}
	if int64(sum) != mark || b.seen != sum+b.given {
		t.Fatalf("consumed %d, outcomes %v, returned %d, mark %d", b.seen, b.ended, b.given, mark)
	}
}

func TestDeadRecordsInNumbersStopTheTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(c *consume.Config) { c.DeadLetterPercent = 50 })
		sick := true
		b.sink.kinds = func(int64) outcome.Kind {
			if sick {
				return outcome.Dead
			}
			return outcome.Applied
		}
		done := b.run(t.Context())
		b.feed(0, 500)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := b.marked(); got[len(got)-1] != 500 || len(b.letters.sent) != 500 {
			t.Fatalf("half of a window is poison, and passes: marked %v, %d letters", got[len(got)-1], len(b.letters.sent))
		}
		b.feed(500, 510)
		time.Sleep(time.Minute)
		synctest.Wait()
		p := b.consumer.Status().Partitions()[0]
		if p.Fault == nil || !p.Fault.Operator || len(b.letters.sent) != 500 {
			t.Errorf("more than half: fault %v, %d letters", p.Fault, len(b.letters.sent))
		}
		b.sink.mu.Lock()
		sick = false // the sink recovers
		b.sink.mu.Unlock()
		time.Sleep(time.Minute)
		close(b.records)
		<-done
		if got := b.marked(); got[len(got)-1] != 510 || b.ended[outcome.Applied] != 10 {
			t.Errorf("after the fix: marked %v, ends %v", got[len(got)-1], b.ended)
		}
	})
}
