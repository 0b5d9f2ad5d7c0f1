package grpcapi

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Texts used if the instrument interface sends none.
const (
	manualRerun     = "manual_rerun"
	instrumentRerun = "instrument_rerun"
	maxRerunType    = 64
)

var errRerunNumber = apperr.InvalidField("rerun_number", "rerun_number must be -1, or an integer of 1 or above")

// receiptOf decodes the body of POST …/new.
func receiptOf(in *rerunv1.AddValuesRequest, actor authn.Actor) (receive.Command, error) {
	c := receive.Command{
		ReportID: in.GetReportId(), SampleID: strings.TrimSpace(in.GetSampleId()), DeviceID: in.GetDeviceId(),
		DeviceName: in.GetDeviceName(),
		RerunType:  in.GetRerunType(), Actor: actor,
	}
	if err := sameReport(in.LabReportId != nil, in.GetLabReportId(), in.GetReportId()); err != nil {
		return c, err
	}
	text, isText := textOf(in.GetRerunNumber().GetJson())
	number, isNumber := integer(strings.TrimSpace(text))
	if !isText || !isNumber || number != receive.OnItsOwn && number < 1 {
		return c, errRerunNumber
	}
	c.Number = number
	if c.SampleID == "" {
		return c, apperr.InvalidField("sample_id", "sample_id is required: it proves that the values are of this report")
	}
	if err := checkLengths(c); err != nil {
		return c, err
	}
	if c.RerunType == "" {
		c.RerunType = manualRerun
		if c.Number == receive.OnItsOwn {
			c.RerunType = instrumentRerun
		}
	}
	var err error
	c.Readings, err = resultsOf(in.GetDeviceData())
	return c, err
}

func checkLengths(c receive.Command) error {
	for _, f := range []struct {
		name, text string
		most       int
		message    string
	}{
		{"sample_id", c.SampleID, maxSampleID, "sample_id has at most 64 characters"},
		{"device_id", c.DeviceID, maxNameChars, "device_id has at most 255 characters"},
		{"device_name", c.DeviceName, maxNameChars, "device_name has at most 255 characters"},
		{"rerun_type", c.RerunType, maxRerunType, "rerun_type has at most 64 characters"},
	} {
		if utf8.RuneCountInString(f.text) > f.most {
			return apperr.InvalidField(f.name, f.message)
		}
	}
	return nil
}

// resultsOf parses device_data of results to store. Unlike readings that are only judged, no value may be missing, and
// an index may have one value only. It may have this value under several names, which may be those of several tests.
func resultsOf(rows []*rerunv1.DeviceValue) ([]receive.Reading, error) {
	readings, err := readingsOf(rows)
	if err != nil {
		return nil, err
	}
	results := make([]receive.Reading, 0, len(readings))
	values := make(map[int]string, len(readings)) // by index
	for i, r := range readings {
		if strings.TrimSpace(r.Value) == "" {
			return nil, rowError(i, "value", "value is required: a text or a number")
		}
		name := rows[i].GetParameterName()
		if utf8.RuneCountInString(name) > maxNameChars {
			return nil, rowError(i, "parameter_name", "parameter_name has at most 255 characters")
		}
		earlier, again := values[r.Index]
		if again && earlier != r.Value {
			return nil, rowError(i, "index", "index stands twice in device_data, with two values; send one message for each test")
		}
		values[r.Index] = r.Value
		if result := (receive.Reading{Index: r.Index, Value: r.Value, Name: name}); !slices.Contains(results, result) {
			results = append(results, result)
		}
	}
	return results, nil
}

func received(r receive.Result) *rerunv1.AddValuesResponse {
	kind := "manual triggered"
	if r.ByInstrument {
		kind = "instrument triggered"
	}
	return &rerunv1.AddValuesResponse{
		Message: rerunUpdated, Type: kind, Fulfilled: len(r.Pending) == 0, AcceptedParameters: narrowAll(r.Accepted),
		RejectedParameters: narrowAll(r.Rejected), PendingParameters: narrowAll(r.Pending),
		SampleRedrawFlag: narrow(int(r.Flag)), Duplicate: r.Duplicate,
	}
}

// Documented messages of responses.
const (
	rerunUpdated = "Rerun data updated"
	rerunAborted = "Successfully aborted sample rerun"
)

// confirmed returns the response to a confirm. It warns of a Word document that still has the previous values: one that
// is open in an editor, or one that was saved.
func confirmed(outcome closing.Confirmed, editor string) *rerunv1.ConfirmRerunResponse {
	out := &rerunv1.ConfirmRerunResponse{Message: rerunUpdated, SampleRedrawFlag: int32(rerun.Normal)}
	for _, r := range outcome.Replaced {
		out.Replaced = append(out.Replaced, &rerunv1.ReplacedValue{
			ProfileTestId: r.ProfileTestID, TestName: r.TestName, Index: narrow(r.Index), ParameterName: r.ParameterName,
			Value: r.Value, PreviousValue: r.Previous,
		})
	}
	switch {
	case editor != "":
		out.Warnings = []string{
			"The report is open in an external editor by " + editor + ", whose document still has the previous values",
		}
	case outcome.HasDocument && len(outcome.Replaced) > 0:
		out.Warnings = []string{"The report's Word document was saved before and still has the previous values;" +
			" open it in the external editor, correct it and save it before the report is signed"}
	}
	return out
}

func aborted() *rerunv1.AbortRerunResponse {
	return &rerunv1.AbortRerunResponse{Message: rerunAborted, SampleRedrawFlag: int32(rerun.Normal)}
}

// confirmationOf decodes the body and the If-Match header of POST …/confirm.
func confirmationOf(
	in *rerunv1.ConfirmRerunRequest, match []string, actor authn.Actor,
) (closing.Confirmation, error) {
	c := closing.Confirmation{ReportID: in.GetLabReportId(), Actor: actor}
	rows := in.GetRerunConfirmedData()
	if len(rows) == 0 || len(rows) > maxRows {
		return c, apperr.InvalidField("rerun_confirmed_data", "rerun_confirmed_data must hold 1 to 500 values")
	}
	for i, row := range rows {
		r, err := confirmedRow(i, row, c.ReportID)
		if err != nil {
			return c, err
		}
		c.Rows = append(c.Rows, r)
	}
	var err error
	c.SeenAt, err = seenAt(in, match)
	return c, err
}

var errMatch = apperr.InvalidField("If-Match", `If-Match must be the ETag that GET returned, such as "1764237600000"`)

// latestMillis is a time in the year 9999, the maximum of seen_at.
const latestMillis = 253_402_300_799_000

// seenAt returns the time of the page that the caller saw: the earlier one of seen_at and If-Match; zero without both.
func seenAt(in *rerunv1.ConfirmRerunRequest, match []string) (seen time.Time, err error) {
	if in.SeenAt != nil {
		if seen, err = time.Parse(time.RFC3339Nano, in.GetSeenAt()); err != nil || seen.Year() < 1970 {
			return seen, apperr.InvalidField("seen_at",
				"seen_at must be the as_of that GET returned, such as 2026-11-27T10:00:00.000Z")
		}
	}
	for _, tag := range match {
		tag = strings.TrimSpace(tag)
		if tag == "*" {
			continue
		}
		text, quoted := strings.CutPrefix(strings.TrimPrefix(tag, "W/"), `"`)
		text, closed := strings.CutSuffix(text, `"`)
		millis, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !quoted || !closed || millis < 0 || millis > latestMillis {
			return seen, errMatch
		}
		if at := time.UnixMilli(millis); seen.IsZero() || at.Before(seen) {
			seen = at
		}
	}
	return seen, nil
}

func confirmedRow(i int, row *rerunv1.ConfirmedValue, reportID int64) (closing.Row, error) {
	const widest = 127 // the limit of the columns
	test := row.GetProfileTestId()
	if row.ProfileTestId == nil {
		test = row.GetTestId()
	}
	r := closing.Row{Result: rerun.Result{
		ProfileTestID: test, Index: int(row.GetIndex()), ParameterName: row.GetParameterName(),
		Value:     row.GetValue(),
		Highlight: int(row.GetHighlight()), Automated: int(row.GetAutomatedValue()),
	}}
	if row.Order != nil {
		order := int(row.GetOrder())
		r.Order = &order
	}
	switch {
	case row.Index == nil:
		return r, rowError(i, "index", "index is required and must be an integer")
	case strings.TrimSpace(r.Value) == "":
		return r, rowError(i, "value", "value is required and must be a text")
	case utf8.RuneCountInString(r.Value) > maxValueChars:
		return r, rowError(i, "value", "value has at most 256 characters")
	case utf8.RuneCountInString(r.ParameterName) > maxNameChars:
		return r, rowError(i, "parameter_name", "parameter_name has at most 255 characters")
	case row.ReportForIdId != nil && row.GetReportForIdId() != reportID:
		return r, rowError(i, "reportForId_id", "reportForId_id differs from the report of the address")
	case r.ProfileTestID < 0 || r.ProfileTestID > 1<<31-1:
		return r, rowError(i, "profileTestId", "profileTestId must be the id of a test, or 0")
	case row.ProfileTestId != nil && row.TestId != nil && row.GetTestId() != test:
		return r, rowError(i, "profileTestId", "profileTestId and profile_test_id differ; send one of them")
	case r.Highlight < -widest || r.Highlight > widest:
		return r, rowError(i, "highlight", "highlight must be a small integer")
	case r.Automated < -widest || r.Automated > widest:
		return r, rowError(i, "automatedValue", "automatedValue must be 0 or 1")
	}
	return r, nil
}
