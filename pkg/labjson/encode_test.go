package labjson_test

import (
	"encoding/json"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/labplatform/labplatform/pkg/labjson"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

func TestEncodingWritesTheDocumentedBody(t *testing.T) {
	t.Parallel()
	tree, err := structpb.NewStruct(map[string]any{"z": 1, "a": []any{true, nil, "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   proto.Message
		want string
	}{
		{&rerunv1.RequestRerunResponse{Message: "ok", RerunId: "a1", RerunNumber: 2, SampleRedrawFlag: 3},
			`{"message":"ok","rerun_id":"a1","rerun_number":2,"sampleRedrawFlag":3}`},
		{&rerunv1.ListRerunsResponse{}, `{"reruns":[],"pending_requests":[],"sampleRedrawFlag":0,"as_of":""}`},
		{&rerunv1.RerunValue{XId: "x", LabId: 1 << 40},
			`{"_id":"x","lab_id":1099511627776,"sample_id":"","value":"","order":0,"index":0,"rerun_type":"","rerun_number":0,` +
				`"parameter_name":"","device_id":"","device_name":"","created_at":"","original_value":null,"profileTestId":null,"test_name":"","history":[]}`},
		{&taskqueuev1.CancelJobResponse{Code: 200}, `{"code":200,"cancelled":[],"cancel_requested":[],"not_found":[]}`},
		{&taskqueuev1.DictionaryMapping{Keyword: "k", Data: &typev1.RawJSON{Json: []byte(`{"b": 1.50}`)}}, `{"keyword":"k","data":{"b": 1.50}}`},
		{&taskqueuev1.DictionaryMapping{Keyword: "\"\\\b\f\n\r\t\x01<é😀"}, `{"keyword":"\"\\\b\f\n\r\t\u0001<é😀","data":null}`},
		{tree, `{"a":[true,null,"x"],"z":1}`},
		{&calloutv1.SaveCalloutResponse{Reports: []int64{7, 1<<53 + 1}}, `{"message":"","status":"","reports":[7,null],"reports_text":["7","9007199254740993"]}`},
		{&billsplitv1.SplitBillSummary{Id: 1<<53 + 1, LabBillId: 1 << 53}, `{"id":null,"id_text":"9007199254740993","labBillId":9007199254740992,"total_amount":0}`},
		{&billsplitv1.BilledTest{ProfileId: proto.Int64(-1<<53 - 1)}, `{"id":0,"name":"","amount":0,"profile_id":null,"profile_id_text":"-9007199254740993","is_gone":false,"concession":0}`},
		{wrapperspb.UInt64(1<<53 + 1), `null`},
		{&timestamppb.Timestamp{Seconds: 1}, `"1970-01-01T00:00:01Z"`},
		{&emptypb.Empty{}, `{}`},
		{wrapperspb.Int64(5), `5`},
		{wrapperspb.Double(1e-7), `1e-7`},
		{wrapperspb.Double(1763712000123), `1763712000123`},
		{wrapperspb.Float(0.1), `0.1`},
		{wrapperspb.Bytes([]byte{1, 2}), `"AQI="`},
	} {
		got, err := labjson.Marshal(c.in)
		if err != nil || string(got) != c.want {
			t.Errorf("Marshal = %s, error %v\nwant      %s", got, err, c.want)
		}
	}
}

func TestEncodingRefusesValuesThatJSONCannotRepresent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   proto.Message
		want string
	}{
		{wrapperspb.Double(math.NaN()), "the body is not a number"},
		{wrapperspb.Double(math.Inf(-1)), "the body is not a number"},
		{&rerunv1.RerunValue{Value: "\xff"}, "value is not UTF-8 text"},
		{&taskqueuev1.DictionaryMapping{Data: &typev1.RawJSON{Json: []byte(`{"a":1`)}}, "data is not valid JSON"},
		{&taskqueuev1.DictionaryMapping{Data: &typev1.RawJSON{Json: []byte(`1}`)}}, "data is not valid JSON"},
	} {
		if _, err := labjson.Marshal(c.in); err == nil || err.Error() != c.want {
			t.Errorf("Marshal of %T: error = %v, want %q", c.in, err, c.want)
		}
	}
}

// parse decodes JSON into a map.
func parse(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: got error %v, want none", text, err)
	}
	return v
}

// meaningful removes from got, at every level, unset or empty names that want does not contain.
func meaningful(got, want map[string]any) map[string]any {
	for name, v := range got {
		mentioned, ok := want[name]
		if !ok && zero(v) {
			delete(got, name)
		}
		inner, isObject := v.(map[string]any)
		wanted, wantsObject := mentioned.(map[string]any)
		if isObject && wantsObject {
			got[name] = meaningful(inner, wanted)
		}
	}
	return got
}

func zero(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x
	case float64:
		return x == 0
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	default:
		return false
	}
}
