package labjson_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/testkit/allocation"
)

var seeds = []string{
	`{}`, `{"b":true,"i":1,"si":-1,"l":2,"u":3,"ul":4,"f":1.5,"d":-2.5e-3,"s":"x","y":"AQI="}`,
	`{"oi":0,"os":"","ob":false,"oy":""}`, `{"ri":[1,"2",3.0],"rs":["a"],"rm":[{}],"rb":[true]}`,
	`{"m":{"m":{"i":1e2}},"ms":{"a":"b"},"mm":{"k":{"s":"v"}},"mi":{"-1":"5"}}`,
	`{"st":{"a":[1,null,{"b":true}]},"va":null,"lv":[1,"x"],"ts":"2026-01-02T03:04:05.006Z","du":"1.5s","wi":"7","ws":"","wb":true,"em":{}}`,
	`{"ca":"x","cb":1}`, `{"i":"1.0","u":-0,"l":"1e-1"}`, `{"s":"\ud83d\ude00\u0000\/"}`, `{"s":"\ud800"}`, `{"i":1,"i":2}`,
	`{"zz":{"a":1,"a":2}}`, `{"e":"RED"}`, `{"e":7}`, `[1]`, `{"i":1}x`, "\ufeff{}", `{"d":"Infinity"}`, `{"f":3.5e38}`, `{"y":"_-"}`,
	`{"l":9007199254740993,"ul":1e30}`, `{"b":"1"}`, `{"flag":"True"}`, `{"va":{"x":[{}]}}`, `{"em":{"x":1}}`, `{"wi":null}`,
	`{"i":1e999999999999999999999}`, `{"i":0e99}`, `{"d":0.1e-400}`, `{"ri":null,"ms":null}`, `{"rm":[null]}`, `{"mi":{"1.0":1}}`, `{"mi":{"7":1}}`,
}

// ours matches texts for which this codec differs from proto-JSON on purpose: other forms of flags, infinities,
// integers beyond 2^53, fields that only this codec supports, nested duplicates and deep nesting.
var ours = regexp.MustCompile(`raw|flag|quiet|NaN|Infinity|@|\\u|[0-9]{15}|[eE][+]?[0-9]{2}|[0-9.]{3}[eE]`)

func FuzzDecoderAgreesWithProtoJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	kind := every(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		got := kind.New().Interface()
		gotErr := labjson.Unmarshal(data, got)
		if gotErr == nil {
			reencodes(t, kind, got, data)
		}
		if ours.Match(data) || strings.Count(string(data), "[")+strings.Count(string(data), "{") > 100 {
			return
		}
		want := kind.New().Interface()
		wantErr := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, want)
		switch {
		case gotErr == nil && wantErr != nil:
			if !mayHaveFlagForm(data) && !strings.Contains(wantErr.Error(), "invalid escape code") {
				t.Fatalf("%s: accepted, want an error as of proto-JSON: %v", data, wantErr)
			}
		case gotErr != nil && wantErr == nil:
			if !stricter(gotErr) && json.Valid(data) { // proto-JSON accepts "0e" as a number
				t.Fatalf("%s: error = %v, want it accepted as by proto-JSON", data, gotErr)
			}
		case gotErr == nil && !proto.Equal(got, want):
			t.Fatalf("%s: values differ (-protojson +labjson):\n%s", data, cmp.Diff(want, got, protocmp.Transform()))
		}
	})
}

// reencodes checks that an accepted text is encoded as valid JSON that decodes to the same value.
func reencodes(t *testing.T, kind protoreflect.MessageType, m proto.Message, data []byte) {
	t.Helper()
	text, err := labjson.Marshal(m)
	if err != nil {
		t.Fatalf("Marshal of the decoded %q: %v", data, err)
	}
	if !json.Valid(text) {
		t.Fatalf("%q is encoded as invalid JSON: %q", data, text)
	}
	second := kind.New().Interface()
	if err := labjson.Unmarshal(text, second); err != nil {
		t.Fatalf("%q is encoded as %q, which is refused: %v", data, text, err)
	}
	if !proto.Equal(m, second) {
		t.Fatalf("%q changed when encoded and decoded (-first +second):\n%s", data, cmp.Diff(m, second, protocmp.Transform()))
	}
}

var boolField = regexp.MustCompile(`"(b|ob|rb|wb)"`)

// mayHaveFlagForm reports whether a bool field may have been sent as 1, "True" or the like.
func mayHaveFlagForm(data []byte) bool { return boolField.Match(data) }

// stricter reports whether proto-JSON accepts what caused err: names repeated inside skipped values, keys with leading
// zeros, and unknown names of enum values.
func stricter(err error) bool {
	return strings.Contains(err.Error(), "twice in one object") || strings.Contains(err.Error(), "not a key of this object") ||
		strings.Contains(err.Error(), "none of the documented values")
}

// The fuzz test checks that invalid JSON is refused, and that memory use is proportional to the length of the text.
func FuzzDecoderRefusesInvalidJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(`{"raw":` + s + `}`))
	}
	kind := every(f)
	f.Add([]byte(`{"lv":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`))
	f.Add([]byte(`{"ri":[` + strings.Repeat("0,", 10_000) + `0]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var err error
		allocation.AtMost(t, 1<<20+500*len(data), func() { err = labjson.Unmarshal(data, kind.New().Interface()) })
		if err == nil && !json.Valid(data) {
			t.Fatalf("%q accepted, want an error", data)
		}
	})
}
