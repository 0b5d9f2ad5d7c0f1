package grpcapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/labjson"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/grpcapi"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// results is a fake that records its arguments.
type results struct {
	command      receive.Command
	result       receive.Result
	confirmation closing.Confirmation
	outcome      closing.Confirmed
	aborted      int64
	editor       string
}

func (r *results) Editor(context.Context, authn.LabScope, int64) string { return r.editor }

func (r *results) Receive(_ context.Context, _ authn.LabScope, c receive.Command) (receive.Result, error) {
	r.command = c
	return r.result, nil
}

func (r *results) Confirm(_ context.Context, _ authn.LabScope, c closing.Confirmation) (closing.Confirmed, error) {
	r.confirmation = c
	return r.outcome, nil
}

func (r *results) Abort(_ context.Context, _ authn.LabScope, reportID int64, _ authn.Actor) error {
	r.aborted = reportID
	return nil
}

func resultServer(r *results) *grpcapi.Server {
	return grpcapi.New(grpcapi.Deps{DocumentStore: true, Receiver: r, Closer: r, Editors: r})
}

// count returns a valid message.
func count() *rerunv1.AddValuesRequest {
	return &rerunv1.AddValuesRequest{ReportId: 7001, LabReportId: proto.Int64(7001), LabId: proto.Int64(12),
		SampleId: proto.String(" S-1 "),
		DeviceId: proto.String("xn"), DeviceName: proto.String("XN"), RerunType: proto.String("manual_rerun"),
		RerunNumber: raw("1"),
		DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(3), Value: raw(`4.20`)},
			{Index: proto.Int32(1), Value: raw(`"13.5"`), ParameterName: proto.String("Hb")},
			{Index: proto.Int32(3), Value: raw(`4.20`)}}}
}

func TestAMessageOfAnInstrumentIsRead(t *testing.T) {
	t.Parallel()
	r := &results{result: receive.Result{Accepted: []int{3}, Rejected: []int{1}, Pending: []int{8}, Flag: rerun.Requested}}
	got, err := resultServer(r).AddValues(as(t, asha), count())
	if err != nil {
		t.Fatal(err)
	}
	want := receive.Command{ReportID: 7001, Number: 1, SampleID: "S-1", DeviceID: "xn", DeviceName: "XN",
		RerunType: "manual_rerun",
		Readings:  []receive.Reading{{Index: 3, Value: "4.20"}, {Index: 1, Value: "13.5", Name: "Hb"}},
		Actor:     authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}}
	if diff := cmp.Diff(want, r.command); diff != "" {
		t.Fatal(diff)
	}
	answer := &rerunv1.AddValuesResponse{Message: "Rerun data updated", Type: "manual triggered",
		AcceptedParameters: []int32{3},
		RejectedParameters: []int32{1}, PendingParameters: []int32{8}, SampleRedrawFlag: 3}
	if diff := cmp.Diff(answer, got, protocmp.Transform()); diff != "" {
		t.Fatal(diff)
	}
	own := count()
	own.RerunNumber, own.RerunType = raw(`"-1"`), nil
	r.result = receive.Result{ByInstrument: true, Accepted: []int{3}, Flag: rerun.Fulfilled}
	if got, err = resultServer(r).AddValues(as(t, asha), own); err != nil || got.GetType() != "instrument triggered" ||
		!got.GetFulfilled() ||
		r.command.Number != receive.OnItsOwn || r.command.RerunType != "instrument_rerun" {
		t.Fatalf("%v %v %+v", got, err, r.command)
	}
}

func TestAWrongMessageOfAnInstrumentIsRefused(t *testing.T) {
	t.Parallel()
	value := func(v *rerunv1.DeviceValue) func(*rerunv1.AddValuesRequest) {
		return func(r *rerunv1.AddValuesRequest) { r.DeviceData = []*rerunv1.DeviceValue{v} }
	}
	for name, change := range map[string]func(*rerunv1.AddValuesRequest){
		"no number":           func(r *rerunv1.AddValuesRequest) { r.RerunNumber = nil },
		"number 0":            func(r *rerunv1.AddValuesRequest) { r.RerunNumber = raw("0") },
		"number -2":           func(r *rerunv1.AddValuesRequest) { r.RerunNumber = raw("-2") },
		"number of text":      func(r *rerunv1.AddValuesRequest) { r.RerunNumber = raw(`"one"`) },
		"number an object":    func(r *rerunv1.AddValuesRequest) { r.RerunNumber = raw(`{}`) },
		"another report":      func(r *rerunv1.AddValuesRequest) { r.LabReportId = proto.Int64(7002) },
		"no sample":           func(r *rerunv1.AddValuesRequest) { r.SampleId = proto.String(" ") },
		"long sample":         func(r *rerunv1.AddValuesRequest) { r.SampleId = proto.String(strings.Repeat("x", 65)) },
		"long device":         func(r *rerunv1.AddValuesRequest) { r.DeviceId = proto.String(strings.Repeat("x", 256)) },
		"long name of device": func(r *rerunv1.AddValuesRequest) { r.DeviceName = proto.String(strings.Repeat("x", 256)) },
		"long type":           func(r *rerunv1.AddValuesRequest) { r.RerunType = proto.String(strings.Repeat("x", 65)) },
		"nothing":             func(r *rerunv1.AddValuesRequest) { r.DeviceData = nil },
		"too much":            func(r *rerunv1.AddValuesRequest) { r.DeviceData = make([]*rerunv1.DeviceValue, 501) },
		"no value":            value(&rerunv1.DeviceValue{Index: proto.Int32(1)}),
		"a null":              value(&rerunv1.DeviceValue{Index: proto.Int32(1), Value: raw("null")}),
		"an empty value":      value(&rerunv1.DeviceValue{Index: proto.Int32(1), Value: raw(`" "`)}),
		"an object":           value(&rerunv1.DeviceValue{Index: proto.Int32(1), Value: raw(`{}`)}),
		"no index":            value(&rerunv1.DeviceValue{Value: raw(`1`)}),
		"a long value": value(&rerunv1.DeviceValue{Index: proto.Int32(1),
			Value: raw(`"` + strings.Repeat("9", 257) + `"`)}),
		"a long parameter": value(&rerunv1.DeviceValue{Index: proto.Int32(1), Value: raw(`1`),
			ParameterName: proto.String(strings.Repeat("x", 256))}),
		"one index, two values": func(r *rerunv1.AddValuesRequest) { r.DeviceData[2].Value = raw("4.3") },
	} {
		in := count()
		change(in)
		if _, err := resultServer(&results{}).AddValues(as(t, asha), in); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: got %v, want kind Invalid", name, err)
		}
	}
}

func TestTheNamesOfAnIndexAreRead(t *testing.T) {
	t.Parallel()
	in, r := count(), &results{}
	in.DeviceData[0].ParameterName, in.DeviceData[2].ParameterName = proto.String("ESR"), proto.String("Other")
	if _, err := resultServer(r).AddValues(as(t, asha), in); err != nil {
		t.Fatal(err)
	}
	want := []receive.Reading{{Index: 3, Value: "4.20", Name: "ESR"}, {Index: 1, Value: "13.5", Name: "Hb"},
		{Index: 3, Value: "4.20", Name: "Other"}}
	if diff := cmp.Diff(want, r.command.Readings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

// decision returns a valid confirmation.
func decision() *rerunv1.ConfirmRerunRequest {
	return &rerunv1.ConfirmRerunRequest{LabReportId: 7001, RerunConfirmedData: []*rerunv1.ConfirmedValue{
		{ProfileTestId: proto.Int64(302), Value: proto.String("7"), Order: proto.Int32(4), Index: proto.Int32(8),
			Highlight:      proto.Int32(1),
			AutomatedValue: proto.Int32(1), ReportForIdId: proto.Int64(7001), ParameterName: proto.String("ESR")},
		{Value: proto.String("13.5"), Index: proto.Int32(1)}}}
}

func TestAConfirmationIsRead(t *testing.T) {
	t.Parallel()
	r := &results{}
	got, err := resultServer(r).ConfirmRerun(as(t, asha), decision())
	if err != nil || got.GetMessage() != "Rerun data updated" || got.GetSampleRedrawFlag() != 0 {
		t.Fatalf("%v %v", got, err)
	}
	four := 4
	want := closing.Confirmation{ReportID: 7001, Actor: authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}, Rows: []closing.Row{
		{Result: rerun.Result{ProfileTestID: 302, Index: 8, ParameterName: "ESR", Value: "7", Highlight: 1, Automated: 1},
			Order: &four},
		{Result: rerun.Result{Index: 1, Value: "13.5"}}}}
	if diff := cmp.Diff(want, r.confirmation, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
	aborted, err := resultServer(r).AbortRerun(as(t, asha), &rerunv1.AbortRerunRequest{LabReportId: 7001})
	if err != nil || aborted.GetMessage() != "Successfully aborted sample rerun" || r.aborted != 7001 {
		t.Fatalf("%v %v", aborted, err)
	}
}

func TestAConfirmationWarnsOfADocumentWithPreviousValues(t *testing.T) {
	t.Parallel()
	replaced := []closing.Replaced{{Result: rerun.Result{Index: 1, Value: "13.5"}}}
	for name, c := range map[string]struct {
		editor  string
		outcome closing.Confirmed
		want    string
	}{
		"no document":        {outcome: closing.Confirmed{Replaced: replaced}},
		"an open one":        {editor: "Dr. Smith", want: "in an external editor by Dr. Smith"},
		"an open, saved one": {"Dr. Smith", closing.Confirmed{Replaced: replaced, HasDocument: true}, "by Dr. Smith"},
		"a saved one":        {outcome: closing.Confirmed{Replaced: replaced, HasDocument: true}, want: "was saved before"},
		"nothing replaced":   {outcome: closing.Confirmed{HasDocument: true}},
	} {
		response, err := resultServer(&results{editor: c.editor, outcome: c.outcome}).ConfirmRerun(as(t, asha), decision())
		got := strings.Join(response.GetWarnings(), "|")
		if err != nil || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: warnings %q, error %v; want %q", name, got, err, c.want)
		}
	}
}

func TestAWrongConfirmationIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rerunv1.ConfirmRerunRequest){
		"nothing": func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData = nil },
		"too much": func(r *rerunv1.ConfirmRerunRequest) {
			r.RerunConfirmedData = make([]*rerunv1.ConfirmedValue,
				501)
		},
		"another report": func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData[0].ReportForIdId = proto.Int64(7002) },
		"no index":       func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData[0].Index = nil },
		"no value":       func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData[0].Value = nil },
		"a long value": func(r *rerunv1.ConfirmRerunRequest) {
			r.RerunConfirmedData[0].Value = proto.String(strings.Repeat("9", 257))
		},
		"a long name": func(r *rerunv1.ConfirmRerunRequest) {
			r.RerunConfirmedData[0].ParameterName = proto.String(strings.Repeat("x", 256))
		},
		"no such test":     func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData[0].ProfileTestId = proto.Int64(-1) },
		"a wide highlight": func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData[0].Highlight = proto.Int32(300) },
		"a wide automation": func(r *rerunv1.ConfirmRerunRequest) {
			r.RerunConfirmedData[0].AutomatedValue = proto.Int32(300)
		},
		"two tests in one row":  func(r *rerunv1.ConfirmRerunRequest) { r.RerunConfirmedData[0].TestId = proto.Int64(301) },
		"a time without a zone": func(r *rerunv1.ConfirmRerunRequest) { r.SeenAt = proto.String("2026-11-21T10:00:00") },
		"no time":               func(r *rerunv1.ConfirmRerunRequest) { r.SeenAt = proto.String("") },
	} {
		in := decision()
		change(in)
		if _, err := resultServer(&results{}).ConfirmRerun(as(t, asha), in); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: got %v, want kind Invalid", name, err)
		}
	}
}

func TestTheTestOfARowHasTwoNames(t *testing.T) {
	t.Parallel()
	for _, row := range []string{`"profileTestId":302`, `"profile_test_id":302`, `"test_id":302`, `"profileTestId":302,"profile_test_id":302`} {
		in, r := &rerunv1.ConfirmRerunRequest{}, &results{}
		if err := labjson.Unmarshal([]byte(`{"rerun_confirmed_data":[{"index":1,"value":"1",`+row+`}]}`), in); err != nil {
			t.Fatal(err)
		}
		in.LabReportId = 7001
		if _, err := resultServer(r).ConfirmRerun(as(t, asha), in); err != nil || r.confirmation.Rows[0].ProfileTestID != 302 {
			t.Errorf("%s: %+v, %v; want test 302", row, r.confirmation.Rows, err)
		}
	}
}

func TestTheAgeOfThePageIsTheOlderOfBothForms(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_795_255_200_005).UTC()
	iso, later := "2026-11-21T15:30:00.005+05:30", `"1795255200006"`
	for name, c := range map[string]struct {
		seenAt string
		match  []string
		want   time.Time
		wrong  bool
	}{
		"nothing":              {},
		"seen_at":              {seenAt: iso, want: at},
		"If-Match":             {match: []string{`"1795255200005"`}, want: at},
		"weak":                 {match: []string{`W/"1795255200005"`}, want: at},
		"any":                  {match: []string{"*"}},
		"both":                 {seenAt: iso, match: []string{later}, want: at},
		"both, the other":      {seenAt: "2027-01-01T00:00:00Z", match: []string{`"1795255200005"`}, want: at},
		"another server's tag": {match: []string{`"abc"`}, wrong: true},
		"without quotes":       {match: []string{"1795255200005"}, wrong: true},
		"absurd":               {match: []string{`"9999999999999999"`}, wrong: true},
	} {
		in, r := decision(), &results{}
		if c.seenAt != "" {
			in.SeenAt = &c.seenAt
		}
		ctx := metadata.NewIncomingContext(as(t, asha), metadata.MD{"if-match": c.match})
		_, err := resultServer(r).ConfirmRerun(ctx, in)
		if apperr.Is(err, apperr.Invalid) != c.wrong || !r.confirmation.SeenAt.Equal(c.want) {
			t.Errorf("%s: seen at %v, %v; want %v, refused %v", name, r.confirmation.SeenAt, err, c.want, c.wrong)
		}
	}
}

func TestAConfirmNamesWhatItReplaced(t *testing.T) {
	t.Parallel()
	previous := "6"
	r := &results{outcome: closing.Confirmed{Replaced: []closing.Replaced{{TestName: "Sedimentation", Previous: &previous,
		Result: rerun.Result{ProfileTestID: 302, Index: 8, ParameterName: "ESR", Value: "7"}}}}}
	got, err := resultServer(r).ConfirmRerun(as(t, asha), decision())
	want := []*rerunv1.ReplacedValue{{ProfileTestId: 302, TestName: "Sedimentation", Index: 8, ParameterName: "ESR", Value: "7",
		PreviousValue: &previous}}
	if diff := cmp.Diff(want, got.GetReplaced(), protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("replaced, %v (-want +got):\n%s", err, diff)
	}
}

func TestABodyThatNamesAnotherReportIsRefused(t *testing.T) {
	t.Parallel()
	in := body(`"[1]"`)
	for named, refused := range map[int64]bool{7001: false, 7002: true, 0: true} {
		in.LabReportId = proto.Int64(named)
		_, err := server(&useCases{}).RequestRerun(as(t, asha), in)
		if apperr.Is(err, apperr.Invalid) != refused {
			t.Errorf("lab_report_id %d: %v", named, err)
		}
	}
}

func TestHighlightIsAnInteger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"2": 2, "-1": -1, "0": 0, "true": 99} {
		in := &rerunv1.ConfirmRerunRequest{}
		err := labjson.Unmarshal([]byte(`{"rerun_confirmed_data":[{"index":1,"value":"1","highlight":`+text+`}]}`), in)
		if (err != nil) != (want == 99) {
			t.Fatalf("%s: %v", text, err)
		}
		if err != nil {
			continue
		}
		r := &results{}
		in.LabReportId = 7001
		if _, err := resultServer(r).ConfirmRerun(as(t, asha), in); err != nil || r.confirmation.Rows[0].Highlight != want {
			t.Errorf("%s: %v, %+v", text, err, r.confirmation.Rows)
		}
	}
}
