package deadletter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/deadletter"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Date(2026, 11, 21, 9, 30, 0, 5e6, time.UTC) }

// shelf is a fake Producer that stores records by topic.
type shelf map[string][]change.Record

func (s shelf) Produce(_ context.Context, topic string, r change.Record) error {
	s[topic] = append(s[topic], r)
	return nil
}

func letters(s shelf) *deadletter.Letters {
	return &deadletter.Letters{Producer: s, Clock: fixedClock{}, Records: "dead", Connectors: "connectors", Group: "cdc-unified"}
}

func TestALetterIsTheRecordAndSaysWhereItCameFrom(t *testing.T) {
	t.Parallel()
	s := shelf{}
	record := change.Record{Topic: "lab.lab.billing", Partition: 4, Offset: 77, Key: []byte(`{"id":9}`), Value: []byte("\xff not JSON"),
		Headers: []change.Header{{Key: "trace", Value: []byte("t1")}, {Key: deadletter.HeaderOffset, Value: []byte("5")}}}
	result := outcome.Died("decode", "malformed", errors.New("value is not valid JSON"))
	if err := letters(s).Send(t.Context(), record, result, 2); err != nil {
		t.Fatal(err)
	}
	letter := s["dead"][0]
	if string(letter.Key) != string(record.Key) || string(letter.Value) != string(record.Value) {
		t.Errorf("key %q, value %q", letter.Key, letter.Value)
	}
	got := map[string]string{}
	for _, h := range letter.Headers {
		if _, twice := got[h.Key]; twice {
			t.Errorf("header %s is there twice", h.Key)
		}
		got[h.Key] = string(h.Value)
	}
	want := map[string]string{"trace": "t1", "original.topic": "lab.lab.billing", "original.partition": "4", "original.offset": "5",
		"error": "value is not valid JSON", "error-class": "malformed", "sink": "decode", "attempts": "2", "first-failed-at": "2026-11-21T09:30:00.005Z",
		"__connect.errors.topic": "lab.lab.billing", "__connect.errors.partition": "4", "__connect.errors.offset": "77",
		"__connect.errors.connector.name": "cdc-unified", "__connect.errors.task.id": "4", "__connect.errors.stage": "DECODE",
		"__connect.errors.class.name": "cdc", "__connect.errors.exception.class.name": "malformed", "__connect.errors.exception.message": "value is not valid JSON"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedTaskIsOneLetter(t *testing.T) {
	t.Parallel()
	s := shelf{}
	trace := "org.apache.kafka.connect.errors.ConnectException: binlog is missing\n\tat x.y(Z.java:1)"
	if err := letters(s).Record(t.Context(), "source-existing", 0, trace, `{"file":"binlog.1"}`); err != nil {
		t.Fatal(err)
	}
	letter := s["connectors"][0]
	if string(letter.Key) != "source-existing" || string(letter.Value) != `{"file":"binlog.1"}` ||
		letter.Header("__connect.errors.exception.class.name") != "org.apache.kafka.connect.errors.ConnectException" ||
		letter.Header("__connect.errors.exception.message") != "binlog is missing" || letter.Header("__connect.errors.exception.stacktrace") != trace {
		t.Errorf("letter %+v", letter)
	}
}

// rows is a fake Patients. It maps a bill or report to its current patient.
type rows map[int64]int64

func (r rows) PatientOf(_ context.Context, _ string, id int64) (int64, error) { return r[id], nil }

type recomputed struct {
	batches [][]int64
	refused map[int64]error
}

func (r *recomputed) RecomputeForced(_ context.Context, ids []int64) (map[int64]error, error) {
	r.batches = append(r.batches, append([]int64{}, ids...))
	refused := map[int64]error{}
	for _, id := range ids {
		if err := r.refused[id]; err != nil {
			refused[id] = err
		}
	}
	return refused, nil
}

func TestReplayRecomputesThePatientsOfItsLettersOnce(t *testing.T) {
	t.Parallel()
	s := shelf{}
	send := func(topic, key, value string) {
		r := change.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}
		if err := letters(s).Send(t.Context(), r, outcome.Died("sql", "1366", errors.New("column email")), 1); err != nil {
			t.Fatal(err)
		}
	}
	send("lab.lab.userDetails", `{"id":501}`, `{"op":"u","before":null,"after":{"id":501,"labId_id":12}}`)
	send("lab.lab.userDetails", `{"id":502}`, "\xff")                                                                                  // unreadable value, readable key
	send("lab.lab.billing", `{"id":9}`, `{"op":"u","before":{"id":9,"userDetailsId_id":503},"after":{"id":9,"userDetailsId_id":504}}`) // moved twice since
	send("lab.lab.labReportRelation", `{"id":10}`, "null")                                                                             // the row was deleted
	send("lab.lab.user_meta", `{"user_id":501}`, `{"op":"c","after":{}}`)
	send("lab.lab.billing", "no key", "no value")
	r := &recomputed{}
	replay := deadletter.Replay{Patients: rows{9: 505}, Recomputer: r, Batch: 3,
		Read: func(_ context.Context, visit func(change.Record, int64) error) error {
			for _, letter := range s["dead"] {
				if err := visit(letter, 6); err != nil {
					return err
				}
			}
			return nil
		}}
	var out strings.Builder
	sum, err := replay.Run(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deadletter.Summary{Letters: 6, Patients: 5, Unreadable: 1, Gone: 1}, sum); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int64{{501, 502, 503}, {504, 505}}, r.batches); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out.String(), "unreadable: lab.lab.billing/0 offset 0") || !strings.Contains(out.String(), "5 of 5 patients") {
		t.Errorf("said:\n%s", out.String())
	}
	r.refused, r.batches = map[int64]error{502: errors.New("too_long: column email")}, nil // the others are replayed
	if sum, err := replay.Run(t.Context(), &out); err != nil || sum.Patients != 4 || sum.Refused != 1 || len(r.batches) != 2 ||
		!strings.Contains(out.String(), "refused: patient 502: too_long: column email") {
		t.Errorf("%+v, error %v, said:\n%s", sum, err, &out)
	}
	replay.DryRun = true
	if _, err := replay.Run(t.Context(), &out); err != nil || len(r.batches) != 2 {
		t.Errorf("a dry run wrote: %v, %v", r.batches, err)
	}
}
