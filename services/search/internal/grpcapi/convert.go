package grpcapi

import (
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// shown is the maximum number of entries of each list in a hit. The newest ones are kept.
const shown = 20

// spelling is one alias of a field, with its value in the request; nil if absent.
type spelling[T comparable] struct {
	name  string
	value *T
}

// given returns the common value of a field's aliases; nil if none was sent. It returns an error if aliases differ,
// because a wrong choice could find the wrong patient.
func given[T comparable](spellings ...spelling[T]) (*T, error) {
	var first spelling[T]
	for _, s := range spellings {
		switch {
		case s.value == nil:
		case first.value == nil:
			first = s
		case *first.value != *s.value:
			return nil, apperr.InvalidField(s.name,
				fmt.Sprintf("%s and %s say different things: give one of them", first.name, s.name))
		}
	}
	return first.value, nil
}

func commandOf(in *searchv1.SearchUsersRequest) (find.Command, error) {
	text, err := given(
		spelling[string]{"query", in.Query},              //nolint:protogetter // a pointer, because absent differs from empty
		spelling[string]{"search_text", in.SearchText},   //nolint:protogetter // a pointer, because absent differs from empty
		spelling[string]{"search_value", in.SearchValue}, //nolint:protogetter // a pointer, because absent differs from empty
		spelling[string]{"q", in.Q},                      //nolint:protogetter // a pointer, because absent differs from empty
	)
	if err != nil {
		return find.Command{}, err
	}
	size, err := given(
		spelling[int32]{"size", in.Size},   //nolint:protogetter // a pointer, because absent differs from zero
		spelling[int32]{"limit", in.Limit}, //nolint:protogetter // a pointer, because absent differs from zero
	)
	if err != nil {
		return find.Command{}, err
	}
	c := find.Command{LabID: in.GetLabId(), Request: search.Request{
		Key: in.GetSearchKey(), Fields: in.GetSearchFields(), Size: widen(size), From: widen(in.From), Page: widen(in.Page),
		Cursor: in.GetCursor(),
	}}
	if text != nil {
		c.Query = *text
	}
	return c, nil
}

func widen(n *int32) *int {
	if n == nil {
		return nil
	}
	wide := int(*n)
	return &wide
}

func found(a find.Answer, today time.Time) *searchv1.SearchUsersResponse {
	out := &searchv1.SearchUsersResponse{
		Total:         a.Total,
		TotalRelation: "eq",
		TookMs:        a.Took.Milliseconds(),
		Size:          int32(a.Query.Size),
		From:          int32(a.Query.From), // at most search.MaxResults, like Size
		SearchKey:     string(a.Query.Key),
		Degraded:      a.Partial || a.Effort != search.Full,
		Buckets: &searchv1.SearchBuckets{
			Patient: a.ByBucket[search.Patient], Bill: a.ByBucket[search.Bill], Order: a.ByBucket[search.Order],
			Report: a.ByBucket[search.Report], Sample: a.ByBucket[search.Sample],
		},
	}
	if a.Next != "" {
		out.NextCursor = &a.Next
	}
	if a.AtLeast {
		out.TotalRelation = "gte"
	}
	for _, h := range a.Hits {
		out.Results = append(out.Results, hit(h, today))
	}
	return out
}

func hit(h search.Hit, today time.Time) *searchv1.SearchHit {
	out := &searchv1.SearchHit{
		UserId:           h.UserID,
		LabId:            h.LabID,
		LabPatientId:     h.LabPatientID,
		FullName:         h.FullName,
		Contact:          h.Contact,
		AlternateContact: h.AlternateContact,
		Email:            h.Email,
		Gender:           h.Gender,
		DateOfBirth:      date(h.DateOfBirth),
		Age:              search.AgeOn(today, &h.Person),
		BranchId:         h.BranchID,
		OrgId:            h.OrgID,
		CcId:             h.CCID,
		OrderNumbers:     newest(h.OrderNumbers),
		BillIds:          newest(h.BillIDs),
		LabBillIds:       newest(h.LabBillIDs),
		LabReportIds:     newest(h.LabReportIDs),
		SampleIds:        newest(h.SampleIDs),
		ManualSampleIds:  newest(h.ManualSampleIDs),
		LrfIds:           newest(h.LrfIDs),
		LastBillTime:     optionalSeconds(h.LastBillTime),
		UpdatedAt:        seconds(h.UpdatedAt),
		Score:            h.Score,
		Bucket:           string(h.Bucket),
		Match:            h.Match.String(),
	}
	for _, f := range h.Matched {
		out.MatchedFields = append(out.MatchedFields, string(f))
	}
	return out
}

func user(p search.Person, today time.Time) *searchv1.User {
	return &searchv1.User{
		UserId:                 p.UserID,
		LabId:                  p.LabID,
		LabPatientId:           p.LabPatientID,
		FullName:               p.FullName,
		Contact:                p.Contact,
		AlternateContact:       p.AlternateContact,
		Email:                  p.Email,
		Gender:                 p.Gender,
		DateOfBirth:            date(p.DateOfBirth),
		Age:                    search.AgeOn(today, &p),
		BranchId:               p.BranchID,
		OrgId:                  p.OrgID,
		CcId:                   p.CCID,
		PassportNo:             p.PassportNo,
		NationalIdentityNumber: p.NationalIdentityNumber,
		OrderNumbers:           p.OrderNumbers,
		BillIds:                p.BillIDs,
		LabBillIds:             p.LabBillIDs,
		LabReportIds:           p.LabReportIDs,
		SampleIds:              p.SampleIDs,
		ManualSampleIds:        p.ManualSampleIDs,
		LrfIds:                 p.LrfIDs,
		LastBillTime:           optionalSeconds(p.LastBillTime),
		UpdatedAt:              seconds(p.UpdatedAt),
	}
}

func newest[T any](list []T) []T { return list[max(0, len(list)-shown):] }

func date(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

const perSecond = 1000

// seconds converts milliseconds to whole seconds and rounds down, even before 1970.
func seconds(millis int64) int64 {
	s := millis / perSecond
	if millis%perSecond < 0 {
		s--
	}
	return s
}

func optionalSeconds(millis *int64) *int64 {
	if millis == nil {
		return nil
	}
	s := seconds(*millis)
	return &s
}
