package grpcapi_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/labjson"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/grpcapi"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// today is the present time in tests.
var today = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// finder is a fake that records its commands and always returns the same answer.
type finder struct {
	principal authn.Principal
	command   find.Command
	answer    find.Answer
	err       error
	asked     int
}

func (f *finder) Search(_ context.Context, p authn.Principal, c find.Command) (find.Answer, error) {
	f.principal, f.command = p, c
	f.asked++
	return f.answer, f.err
}

type reader struct {
	person search.Person
	err    error
}

func (r reader) Read(context.Context, authn.Principal, int64) (search.Person, error) {
	return r.person, r.err
}

func ptr[T any](v T) *T { return &v }

func request(t *testing.T, body string) *searchv1.SearchUsersRequest {
	t.Helper()
	in := &searchv1.SearchUsersRequest{}
	if err := labjson.Unmarshal([]byte(body), in); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestEverySpellingOfARequestIsUnderstood(t *testing.T) {
	t.Parallel()
	rahul := search.Request{Query: "rahul"}
	cases := map[string]struct {
		body string
		want find.Command
	}{
		"query":         {`{"query":"rahul"}`, find.Command{Request: rahul}},
		"search_text":   {`{"search_text":"rahul"}`, find.Command{Request: rahul}},
		"search_value":  {`{"search_value":"rahul","query":null}`, find.Command{Request: rahul}},
		"q":             {`{"q":"rahul"}`, find.Command{Request: rahul}},
		"the same text": {`{"q":"rahul","query":"rahul"}`, find.Command{Request: rahul}},
		"nothing":       {`{}`, find.Command{}},
		"limit":         {`{"limit":25}`, find.Command{Request: search.Request{Size: ptr(25)}}},
		"a size of 0":   {`{"size":0}`, find.Command{Request: search.Request{Size: ptr(0)}}},
		"a cursor":      {`{"q":"rahul","cursor":"AAA"}`, find.Command{Request: search.Request{Query: "rahul", Cursor: "AAA"}}},
		"everything": {
			`{"query":"rahul","search_key":"name","search_fields":["full_name"],"size":5,"limit":5,"from":10,"page":3,"lab_id":12,"colour":"red"}`,
			find.Command{LabID: 12, Request: search.Request{
				Query: "rahul", Key: "name", Fields: []string{"full_name"}, Size: ptr(5), From: ptr(10), Page: ptr(3)}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &finder{}
			ctx := authn.NewContext(t.Context(), authn.Principal{Kind: authn.Session, LabID: 12})
			if _, err := grpcapi.New(grpcapi.Deps{Finder: f, Reader: reader{}, Clock: clock.Fixed(today)}).SearchUsers(ctx, request(t, c.body)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, f.command); diff != "" {
				t.Error(diff)
			}
			if f.principal.LabID != 12 {
				t.Errorf("searched for %+v", f.principal)
			}
		})
	}
}

func TestSpellingsThatContradictEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"query":"rahul","q":"anita"}`:               "q",
		`{"search_text":"rahul","search_value":""}`:   "search_value",
		`{"query":"rahul","size":5,"limit":10}`:       "limit",
		`{"query":"a","search_text":"b","limit":100}`: "search_text",
	} {
		f := &finder{}
		_, err := grpcapi.New(grpcapi.Deps{Finder: f, Reader: reader{}, Clock: clock.Fixed(today)}).SearchUsers(t.Context(), request(t, body))
		e, ok := apperr.From(err)
		if !ok || e.Kind != apperr.Invalid || len(e.Fields) != 1 || e.Fields[0].Name != field || f.asked != 0 {
			t.Errorf("%s: %v", body, err)
		}
		if strings.Contains(err.Error(), "rahul") {
			t.Errorf("%s: the message quotes the text: %v", body, err)
		}
	}
}

func rahul() search.Person {
	return search.Person{
		UserID: 501, LabID: 12, LabPatientID: "P-000501", FullName: "Rahul Sharma", Contact: "9876543210", Email: "r@x.in", Gender: "Male",
		DateOfBirth: "1990-02-11", Age: "36 Y", PassportNo: "Z9", NationalIdentityNumber: "N1", BranchID: ptr(int64(3)), OrgID: ptr(int64(45)),
		OrderNumbers: []string{"ORD-1"}, BillIDs: []int64{9001}, LabBillIDs: []int64{301}, LabReportIDs: []int64{7001}, SampleIDs: []string{"S001"},
		LastBillTime: ptr(int64(1790000000999)), UpdatedAt: 1790000100000,
	}
}

func TestTheAnswersAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	nobody := search.Person{UserID: 502, LabID: 12, UpdatedAt: -1}
	answer := find.Answer{
		Query: search.Query{Key: "all", Size: 10},
		Result: search.Result{
			Total: 2, Took: 7900 * time.Microsecond, ByBucket: map[search.Bucket]int64{search.Patient: 2}, Next: "AAA",
			Hits: []search.Hit{
				{Person: rahul(), Score: 12.3, Bucket: search.Patient, Matched: []search.Field{search.FullName}},
				{Person: nobody, Score: 1, Bucket: search.Sample, Matched: []search.Field{search.Email, search.SampleIDs}},
			},
		},
	}
	s := grpcapi.New(grpcapi.Deps{Finder: &finder{answer: answer}, Reader: reader{person: rahul()}, Clock: clock.Fixed(today)})
	found, err := s.SearchUsers(t.Context(), &searchv1.SearchUsersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := s.GetUser(t.Context(), &searchv1.GetUserRequest{UserId: 501})
	if err != nil {
		t.Fatal(err)
	}
	body, err := labjson.Marshal(found)
	golden(t, "testdata/search.json", body, err)
	body, err = labjson.Marshal(shown)
	golden(t, "testdata/user.json", body, err)
}

// golden compares the response with a file, ignoring the line breaks in it.
func golden(t *testing.T, file string, got []byte, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(text), "\n", ""), string(got)); diff != "" {
		t.Errorf("%s: got %s, want none", file, diff)
	}
}

func TestAnAnswerSaysWhatItIsWorth(t *testing.T) {
	t.Parallel()
	cases := []struct {
		answer   find.Answer
		relation string
		degraded bool
	}{
		{find.Answer{}, "eq", false},
		{find.Answer{Result: search.Result{Total: 10_000, AtLeast: true}}, "gte", false},
		{find.Answer{Result: search.Result{Partial: true}}, "eq", true},
		{find.Answer{Effort: search.Reduced}, "eq", true},
		{find.Answer{Effort: search.Least}, "eq", true},
	}
	for _, c := range cases {
		out, err := grpcapi.New(grpcapi.Deps{Finder: &finder{answer: c.answer}, Reader: reader{}, Clock: clock.Fixed(today)}).SearchUsers(t.Context(), &searchv1.SearchUsersRequest{})
		if err != nil || out.GetTotalRelation() != c.relation || out.GetDegraded() != c.degraded || out.GetBuckets() == nil {
			t.Errorf("%+v: %v, %v", c.answer, out, err)
		}
	}
}

func TestAHitShowsTheNewestTwentyAndTheDetailAll(t *testing.T) {
	t.Parallel()
	person := rahul()
	person.BillIDs = nil
	for id := range int64(25) {
		person.BillIDs = append(person.BillIDs, id+1)
	}
	s := grpcapi.New(grpcapi.Deps{Finder: &finder{answer: find.Answer{Result: search.Result{Hits: []search.Hit{{Person: person}}}}}, Reader: reader{person: person}, Clock: clock.Fixed(today)})
	found, err := s.SearchUsers(t.Context(), &searchv1.SearchUsersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if bills := found.GetResults()[0].GetBillIds(); len(bills) != 20 || bills[0] != 6 || bills[19] != 25 {
		t.Errorf("bills %v", bills)
	}
	shown, err := s.GetUser(t.Context(), &searchv1.GetUserRequest{UserId: 501})
	if err != nil || len(shown.GetUser().GetBillIds()) != 25 {
		t.Errorf("got %v, %v, want 25", shown, err)
	}
}

func TestErrorsPassUnchanged(t *testing.T) {
	t.Parallel()
	limited := apperr.New(apperr.TooManyRequests, "TOO_MANY_SEARCHES", "wait").WithRetryAfter(time.Second)
	s := grpcapi.New(grpcapi.Deps{Finder: &finder{err: limited}, Reader: reader{err: detail.ErrNoUser}, Clock: clock.Fixed(today)})
	if _, err := s.SearchUsers(t.Context(), &searchv1.SearchUsersRequest{}); !errors.Is(err, limited) {
		t.Errorf("search: %v", err)
	}
	if _, err := s.GetUser(t.Context(), &searchv1.GetUserRequest{UserId: 1}); !errors.Is(err, detail.ErrNoUser) {
		t.Errorf("detail: %v", err)
	}
	for _, id := range []int64{0, -1} {
		if _, err := s.GetUser(t.Context(), &searchv1.GetUserRequest{UserId: id}); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("user %d: %v", id, err)
		}
	}
}
