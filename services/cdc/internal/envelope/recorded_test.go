package envelope_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// recording is a message recorded from the real connector.
type recording struct {
	Topic string          `json:"topic"`
	Key   *string         `json:"key_raw"`
	Raw   *string         `json:"value_raw"`
	Value json.RawMessage `json:"value"`
}

func (r recording) record() change.Record {
	c := change.Record{Topic: r.Topic}
	if r.Key != nil {
		c.Key = []byte(*r.Key)
	}
	if r.Raw != nil {
		c.Value = []byte(*r.Raw)
	}
	return c
}

func recordings(t testing.TB) map[string][]recording {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string][]recording{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []recording
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: got error %v, want none", file, err)
		}
		all[filepath.Base(file)] = list
	}
	return all
}

func TestEveryRecordedMessageIsDecodedOrClassified(t *testing.T) {
	t.Parallel()
	got := map[string]map[string]int{}
	for file, list := range recordings(t) {
		got[file] = map[string]int{}
		for _, r := range list {
			got[file][classify(t, r)]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func classify(t *testing.T, r recording) string {
	t.Helper()
	c, err := envelope.Decode(r.record())
	var m *envelope.Malformed
	switch {
	case errors.As(err, &m):
		return "malformed"
	case err != nil:
		t.Fatalf("%v is no *Malformed", err)
	case c.Tombstone:
		return "tombstone"
	}
	sameAs(t, r.Value, "before", c.Before)
	sameAs(t, r.Value, "after", c.After)
	return string(c.Op)
}

// sameAs compares an image with the recorded one by value, because the raw text contains escapes.
func sameAs(t *testing.T, value json.RawMessage, part string, image []byte) {
	t.Helper()
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(value, &outer); err != nil {
		t.Fatal(err)
	}
	if payload, wrapped := outer["payload"]; wrapped {
		outer = nil
		if err := json.Unmarshal(payload, &outer); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(parsed(t, outer[part]), parsed(t, image)); diff != "" {
		t.Fatalf("%s: got %s, want none", part, diff)
	}
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	if len(b) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// want is the number of messages by operation in each recording; "malformed" counts messages that are not envelopes.
var want = map[string]map[string]int{
	"a_snapshot_labs.json":                     {"r": 2},
	"a_snapshot_user_details.json":             {"r": 3},
	"a_snapshot_user_meta.json":                {"r": 1},
	"b_crud_user_details.json":                 {"c": 4, "d": 2, "tombstone": 2, "u": 2},
	"b_crud_user_meta.json":                    {"c": 2, "d": 1, "tombstone": 1, "u": 3},
	"b_ddl_user_meta.json":                     {"c": 2, "u": 2},
	"b_truncate_user_meta.json":                {"c": 1, "t": 1},
	"c_incremental_filtered_user_details.json": {"r": 1},
	"c_incremental_user_details.json":          {"r": 5},
	"c_incremental_user_meta.json":             {"r": 2},
	"c_signal_table_topic.json":                {"c": 6},
	"d_types_chosen.json":                      {"c": 4, "d": 4, "r": 4, "tombstone": 4, "u": 1},
	"d_types_connect_time.json":                {"c": 4, "d": 4, "r": 4, "tombstone": 4, "u": 1},
	"d_types_default.json":                     {"c": 4, "d": 4, "r": 4, "tombstone": 4, "u": 1},
	"d_types_numeric.json":                     {"c": 4, "d": 4, "r": 4, "tombstone": 4, "u": 1},
	"d_types_schemas_on.json":                  {"c": 4, "d": 4, "r": 4, "tombstone": 4, "u": 1},
	"d_types_tinyint_bool.json":                {"c": 4, "d": 4, "r": 4, "tombstone": 4, "u": 1},
	"d_types_unwrap_default.json":              {"malformed": 9, "tombstone": 4}, // rows without an envelope
	"d_types_unwrap_rewrite.json":              {"malformed": 13},
	"heartbeat.json":                           {"malformed": 2},
	// Recorded from the MySQL connector; the others from the MariaDB connector.
	"mysql_a_snapshot_user_details.json": {"r": 1},
	"mysql_b_crud_billing.json":          {"u": 1},
	"mysql_b_crud_user_details.json":     {"d": 1, "tombstone": 1, "u": 1},
	"mysql_b_crud_user_meta.json":        {"c": 1},
	"mysql_b_truncate_user_meta.json":    {"t": 1},
	"mysql_c_incremental_user_meta.json": {"r": 1},
	"mysql_d_types_chosen.json":          {"c": 2, "r": 1},
	"mysql_heartbeat.json":               {"c": 1},
}
