package grpcapi

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Limits of requests.
const (
	maxRows       = 500 // maximum of device_data and requested_parameters
	maxValueChars = 256
	maxNameChars  = 255
	maxSampleID   = 64
)

// commandOf decodes the body of POST …/request.
func commandOf(in *rerunv1.RequestRerunRequest, actor authn.Actor) (request.Command, error) {
	c := request.Command{
		ReportID: in.GetReportId(), ParameterNames: in.GetParameterNames(), SampleID: in.GetSampleId(), Actor: actor,
	}
	if err := sameReport(in.LabReportId != nil, in.GetLabReportId(), in.GetReportId()); err != nil {
		return c, err
	}
	var ok bool
	if c.Type, ok = rerun.ParseType(in.GetType()); !ok {
		return c, apperr.InvalidField("type", "type must be Manual or auto")
	}
	if in.IsActive != nil && !in.GetIsActive() {
		return c, apperr.InvalidField("is_active",
			"is_active must be true: a request is closed by its values, confirm or abort")
	}
	if utf8.RuneCountInString(c.SampleID) > maxSampleID {
		return c, apperr.InvalidField("sample_id", "sample_id has at most 64 characters")
	}
	if err := checkNames(c.ParameterNames); err != nil {
		return c, err
	}
	var err error
	if c.Number, err = numberOf(in.GetRerunNumber().GetJson()); err != nil {
		return c, err
	}
	c.Requested, err = indicesOf(in.GetRequestedParameters().GetJson())
	return c, err
}

// sameReport rejects a body that names another report than the path.
func sameReport(isNamed bool, named, reportID int64) error {
	if isNamed && named != reportID {
		return apperr.InvalidField("lab_report_id", "lab_report_id differs from the report of the address")
	}
	return nil
}

func checkNames(names []string) error {
	if len(names) > maxRows {
		return apperr.InvalidField("parameter_names", "parameter_names has at most 500 names")
	}
	for _, n := range names {
		if utf8.RuneCountInString(n) > maxNameChars {
			return apperr.InvalidField("parameter_names", "a name in parameter_names has at most 255 characters")
		}
	}
	return nil
}

func requested(r rerun.Record) *rerunv1.RequestRerunResponse {
	return &rerunv1.RequestRerunResponse{
		Message: string(r.Type) + " Sample rerun requested successfully", RerunId: r.ID,
		RerunNumber: narrow(r.Number), SampleRedrawFlag: int32(rerun.Requested),
	}
}

// readingsOf parses device_data. A value may be a text or a number; null means no result.
func readingsOf(rows []*rerunv1.DeviceValue) ([]autorerun.Reading, error) {
	if len(rows) == 0 {
		return nil, apperr.InvalidField("device_data", "device_data must hold at least one value")
	}
	if len(rows) > maxRows {
		return nil, apperr.InvalidField("device_data", "device_data has at most 500 rows")
	}
	readings := make([]autorerun.Reading, 0, len(rows))
	for i, row := range rows {
		if row.Index == nil {
			return nil, rowError(i, "index", "index is required and must be an integer")
		}
		value, ok := textOf(row.GetValue().GetJson())
		if !ok {
			return nil, rowError(i, "value", "value must be a text or a number")
		}
		if utf8.RuneCountInString(value) > maxValueChars {
			return nil, rowError(i, "value", "value has at most 256 characters")
		}
		readings = append(readings, autorerun.Reading{Index: int(row.GetIndex()), Value: value})
	}
	return readings, nil
}

func rowError(index int, name, message string) error {
	return apperr.InvalidFields(apperr.Field{Index: index, Name: name, Message: message})
}

func evaluated(v autorerun.Verdict) *rerunv1.EvaluateAutoRerunResponse {
	out := &rerunv1.EvaluateAutoRerunResponse{
		Message:              "Auto rerun didn't qualify for these values",
		QualifyingParameters: narrowAll(v.Qualifying), UndecidedParameters: narrowAll(v.Undecided),
		UnknownIndices: narrowAll(v.Unknown),
	}
	if len(v.Qualifying) > 0 {
		out.Message = "Auto rerun queued successfully"
	}
	return out
}

func listed(l listing.Listing) *rerunv1.ListRerunsResponse {
	out := &rerunv1.ListRerunsResponse{SampleRedrawFlag: int32(l.Flag), AsOf: iso(l.AsOf)}
	for _, v := range l.Values {
		out.Reruns = append(out.Reruns, valueOut(v))
	}
	for _, r := range l.Open {
		out.PendingRequests = append(out.PendingRequests, &rerunv1.PendingRequest{
			RerunId: r.ID, Type: string(r.Type), RerunNumber: narrow(r.Number), RequestedParameters: narrowAll(r.Requested),
			ParameterNames: r.ParameterNames, PendingParameters: narrowAll(r.Pending), CreatedBy: r.CreatedBy,
			CreatedAt: iso(r.CreatedAt),
		})
	}
	return out
}

func valueOut(v listing.Value) *rerunv1.RerunValue {
	out := &rerunv1.RerunValue{
		XId: v.ID, LabId: v.LabID, SampleId: v.SampleID, Value: v.Value.Value, Order: narrow(v.Order), Index: narrow(v.Index),
		RerunType:   v.RerunType,
		RerunNumber: narrow(v.Number), ParameterName: v.ParameterName, DeviceId: v.DeviceID, DeviceName: v.DeviceName,
		CreatedAt: iso(v.CreatedAt), OriginalValue: v.Original, ProfileTestId: v.NamingTest, TestName: v.TestName,
	}
	for _, e := range v.History {
		out.History = append(out.History, &rerunv1.EarlierValue{
			Value: e.Value, DeviceId: e.DeviceID, DeviceName: e.DeviceName, CreatedAt: iso(e.CreatedAt),
		})
	}
	return out
}

// etagOf returns the ETag of a listing: the milliseconds of its as_of.
func etagOf(asOf time.Time) string {
	return `"` + strconv.FormatInt(asOf.UnixMilli(), 10) + `"`
}

// iso formats a time in ISO 8601 UTC with milliseconds, the precision of the document store. It returns "" for the zero
// time.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func narrow(n int) int32 {
	return int32(min(max(n, math.MinInt32), math.MaxInt32))
}

func narrowAll(list []int) []int32 {
	out := make([]int32, 0, len(list))
	for _, n := range list {
		out = append(out, narrow(n))
	}
	return out
}

var errNumber = apperr.InvalidField("rerun_number", "rerun_number must be an integer of 1 or above")

// numberOf parses rerun_number, an integer or its text. It returns 0 if there is none.
func numberOf(raw []byte) (int, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	text, ok := textOf(raw)
	if !ok {
		return 0, errNumber
	}
	n, ok := integer(strings.TrimSpace(text))
	if !ok || n < 1 {
		return 0, errNumber
	}
	return n, nil
}
