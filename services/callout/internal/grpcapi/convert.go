package grpcapi

import (
	"math"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

func recordsOf(l records.List) *calloutv1.ListCriticalRecordsResponse {
	out := &calloutv1.ListCriticalRecordsResponse{AttemptedCallout: &calloutv1.AttemptedCallout{}}
	for _, r := range l.Records {
		out.Reports = append(
			out.Reports,
			&calloutv1.CriticalReport{CriticalParameters: parametersOf(r.Critical), LabReport: reportOf(r.Report)},
		)
	}
	if d := l.Draft; d != nil {
		out.AttemptedCallout = &calloutv1.AttemptedCallout{
			Recipients: d.Recipients, CriticalCalloutComment: d.Comment,
			CriticalValuesMeta: rawJSON(d.ValuesMeta), CriticalCalloutMeta: rawJSON(d.CalloutMeta),
			Attempts: attemptsOf(l.Attempts),
		}
	}
	for _, s := range l.Suppressed {
		out.Suppressed = append(out.Suppressed, &calloutv1.SuppressedReport{
			CriticalParameters: parametersOf(s.Critical), LabReportId: s.Report.ID, ReportID: testOf(s.Report.Test),
			Reason: s.Reason, CalledAt: iso(s.CalledAt),
		})
	}
	return out
}

func attemptsOf(list []records.Attempt) (out []*calloutv1.ReportAttempt) {
	for _, a := range list {
		out = append(out, &calloutv1.ReportAttempt{
			LabReportId: a.ReportID, Recipients: a.Recipients, CriticalCalloutComment: a.Comment,
			CriticalValuesMeta: rawJSON(a.ValuesMeta), CriticalCalloutMeta: rawJSON(a.CalloutMeta), CreatedOn: iso(a.At),
		})
	}
	return out
}

func parametersOf(list []callout.Parameter) []*calloutv1.CriticalParameter {
	out := make([]*calloutv1.CriticalParameter, len(list))
	for i, p := range list {
		out[i] = &calloutv1.CriticalParameter{
			Value:          p.Value,
			ParameterName:  p.Name,
			ReferenceRange: p.ReferenceRange,
			Unit:           p.Unit,
			CriticalRange:  p.CriticalRange,
			Flag:           p.Flag,
			RawValue:       p.RawValue,
			Index:          clamp(p.Index),
			ReportFormatId: &p.FormatID,
		}
	}
	return out
}

func reportOf(r callout.Report) *calloutv1.LabReport {
	f := r.Flags
	return &calloutv1.LabReport{
		OrgId:              r.OrgID,
		OnHold:             clamp(f.OnHold),
		BillId:             r.BillID,
		DocForId:           r.DoctorID,
		ReportID:           testOf(r.Test),
		IsSigned:           clamp(f.IsSigned),
		IsSynced:           clamp(f.IsSynced),
		Comments:           r.Comments,
		IsProfile:          clamp(f.IsProfile),
		IsApproved:         clamp(f.IsApproved),
		IsResolved:         clamp(f.IsResolved),
		InQuestion:         clamp(f.InQuestion),
		LabReportId:        r.ID,
		NotPerformed:       clamp(f.NotPerformed),
		ClaimOnHold:        clamp(f.ClaimOnHold),
		UserDetailsId:      r.PatientID,
		ReportFormatId:     r.FormatID,
		CriticalValues:     r.Status.String(),
		AutoApprovalStatus: clamp(f.AutoApprovalStatus),
	}
}

func testOf(t callout.Test) *calloutv1.ReportTest {
	return &calloutv1.ReportTest{
		TestID:         t.ID,
		TestName:       t.Name,
		DepartmentId:   t.DepartmentID,
		DepartmentName: t.DepartmentName,
		IsProfile:      clamp(t.IsProfile),
	}
}

func logsOf(entries []history.Entry) *calloutv1.ListCalloutLogsResponse {
	out := &calloutv1.ListCalloutLogsResponse{}
	for _, e := range entries {
		out.Logs = append(out.Logs, &calloutv1.CalloutLog{
			Meta: rawJSON(e.Meta), LabUserName: e.UserName, ActivityText: e.Text, ActivityDate: iso(e.At),
		})
	}
	return out
}

func calloutsOf(list []history.Record) *calloutv1.ListCalloutsResponse {
	out := &calloutv1.ListCalloutsResponse{}
	for _, r := range list {
		out.Records = append(out.Records, &calloutv1.Callout{
			Id:                     r.ID,
			LabReportId:            r.ReportID,
			BillId:                 r.BillID,
			OrgName:                r.Organization,
			PatientName:            r.Patient,
			ReferralName:           r.Referral,
			PerformedByUserName:    r.PerformedByUser,
			PerformedByDoctorName:  r.PerformedByDoc,
			CriticalCalloutComment: r.Comment,
			CriticalCalloutMeta:    rawJSON(r.CalloutMeta),
			CriticalValuesMeta:     rawJSON(r.ValuesMeta),
			Recipients:             r.Recipients,
			CreatedOn:              iso(r.CreatedOn),
		})
	}
	return out
}

// openOf encodes the worklist and marks the claims of its reader.
func openOf(o worklist.Open, reader authn.Actor) *calloutv1.ListOpenCalloutsResponse {
	out := &calloutv1.ListOpenCalloutsResponse{
		Now: iso(o.Now), LimitReached: o.LimitReached, TimeZone: o.Zone.String(), QuietSince: isoOrNil(o.QuietSince),
		Elsewhere: o.Elsewhere, UnclearLimitReached: o.UnclearLimit, CorrectedLimitReached: o.CorrectedLimit,
	}
	if o.Off.Reason != "" {
		out.NoticesUnavailable = &calloutv1.NoticesOff{Reason: o.Off.Reason, Since: iso(o.Off.Since)}
	}
	for _, i := range o.Items {
		r := i.Report
		item := &calloutv1.OpenCallout{
			LabReportId:        r.ID,
			BillId:             r.BillID,
			LabBillId:          i.LabBillID,
			TestName:           r.Test.Name,
			DepartmentId:       r.Test.DepartmentID,
			DepartmentName:     r.Test.DepartmentName,
			PatientName:        i.Patient,
			LabPatientId:       i.PatientID,
			OrgName:            i.Organization,
			ReferralName:       i.Referral,
			CriticalValues:     r.Status.String(),
			CriticalParameters: parametersOf(i.Critical),
			DetectedAt:         iso(i.DetectedAt),
			Escalations:        clamp(i.Level),
			RerunPending:       r.RerunRequested,
			NoticesOff:         i.NoticesOff,
		}
		item.DueAt, item.NextReminderAt = isoOrNil(i.DueAt), isoOrNil(i.RemindAt)
		if !i.Claim.Until.IsZero() {
			item.Claim = claimOf(i.Claim, reader)
		}
		out.Open = append(out.Open, item)
	}
	for _, u := range o.Unclear {
		out.Unclear = append(out.Unclear, unclearOf(u)...)
	}
	for _, c := range o.Corrected {
		out.Corrected = append(out.Corrected, correctedOf(c))
	}
	for _, u := range o.Unconfirmed {
		out.Unconfirmed = append(out.Unconfirmed, unconfirmedOf(u))
	}
	return out
}

func claimOf(c claim.Claim, reader authn.Actor) *calloutv1.CalloutClaim {
	return &calloutv1.CalloutClaim{Name: c.By.Name, Since: iso(c.Since), Until: iso(c.Until), Mine: c.Of(reader)}
}

func unconfirmedOf(u worklist.Unconfirmed) *calloutv1.UnconfirmedValue {
	r := u.Report
	return &calloutv1.UnconfirmedValue{
		LabReportId: r.ID, BillId: r.BillID, LabBillId: u.LabBillID, TestName: r.Test.Name, DepartmentId: r.Test.DepartmentID,
		DepartmentName: r.Test.DepartmentName, PatientName: r.PatientName, LabPatientId: u.PatientID,
		CriticalParameters: parametersOf(u.Values), ReceivedAt: iso(u.ReceivedAt),
	}
}

func correctedOf(c worklist.Corrected) *calloutv1.CorrectedCallout {
	return &calloutv1.CorrectedCallout{
		LabReportId: c.ReportID, BillId: c.BillID, LabBillId: c.LabBillID, TestName: c.Test.Name,
		DepartmentId: c.Test.DepartmentID, DepartmentName: c.Test.DepartmentName, PatientName: c.Patient,
		LabPatientId: c.PatientID, OrgName: c.Organization, ReferralName: c.Referral,
		CalledParameters: parametersOf(c.Was), ToldAt: iso(c.ToldAt), CalledAt: isoOrNil(c.CalledAt),
		NotifiedPersons: c.Persons, NoticeSent: c.Sent,
	}
}

func unclearOf(u worklist.Unclear) []*calloutv1.UnclearValue {
	list := make([]*calloutv1.UnclearValue, len(u.Values))
	for i, v := range u.Values {
		list[i] = &calloutv1.UnclearValue{
			LabReportId: u.Report.ID, ParameterName: v.Name, RawValue: v.RawValue, BillId: u.Report.BillID,
			LabBillId: u.LabBillID, TestName: u.Report.Test.Name, DepartmentId: u.Report.Test.DepartmentID,
			DepartmentName: u.Report.Test.DepartmentName, CriticalRange: v.CriticalRange, Unit: v.Unit, Since: iso(u.Since),
		}
	}
	return list
}

func summaryOf(s worklist.Summary) *calloutv1.GetCalloutSummaryResponse {
	return &calloutv1.GetCalloutSummaryResponse{
		Open: s.Open, Overdue: s.Overdue, Called: s.Called, InTime: s.InTime,
		MedianMinutesToCallout: s.Median, P90MinutesToCallout: s.P90, LimitMinutes: int32(s.Limit / time.Minute),
		Elsewhere: s.Elsewhere,
	}
}

// rawJSON wraps JSON that the domain has already validated.
func rawJSON(text []byte) *typev1.RawJSON { return &typev1.RawJSON{Json: text} }

// iso formats a time in ISO 8601, with a fraction only if needed, as the API documents.
func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// isoOrNil formats a time like iso; the zero time gives nil.
func isoOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := iso(t)
	return &text
}

// clamp limits n to the range of int32, the width of the columns.
func clamp(n int) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, n))) }
