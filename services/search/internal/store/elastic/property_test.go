package elastic_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

var (
	someWords  = []string{"Rahul", "RAHAT", "Rah", "Sharma", "sha", "Om", "Al-Amin", "Kumar", "Kumari", "R2", "Ved"}
	somePhones = []string{"9876543210", "9876512345", "+91 98765 43210", "09123456780", "91-9123456780", "12345", "123", "4412345678", "0221234567", ""}
	someIDs    = []string{"S-1", "S-12", "S12", "P1", "12", "123", "1234 5678", "12345678", "RAHUL", "Rahul Sharma", "ORD-12/3", "ord-2026-771", "771", "", "", ""}
	someMails  = []string{"rahul@x.in", "rahul.s@x.in", "om@y.in", ""}
)

// crowd returns patients of two laboratories that share a shard. Their names and numbers are equal or similar.
func crowd() rows {
	r := rand.New(rand.NewPCG(7, 8))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	some := func(from []string) []string {
		return slices.DeleteFunc([]string{pick(from), pick(from)}, func(s string) bool { return s == "" })
	}
	number := func() []int64 { return []int64{r.Int64N(1300), r.Int64N(100_000)} }
	var all rows
	for n := range int64(150) {
		row := indextest.Row{UserID: 900 + n*7, LabID: 7 + n%2, Rev: 3, Contact: pick(somePhones), AlternateContact: pick(somePhones), Email: pick(someMails),
			LabPatientID: pick(someIDs), NationalIdentityNumber: pick(someIDs), PassportNo: pick(someIDs), OrderNumbers: some(someIDs), SampleIDs: some(someIDs),
			ManualSampleIDs: some(someIDs), LrfIDs: some(someIDs), BillIDs: number(), LabBillIDs: number(), LabReportIDs: number(), IsDeleted: r.IntN(10) == 0}
		for range 1 + r.IntN(3) {
			row.FullName = strings.TrimSpace(row.FullName + " " + pick(someWords))
		}
		if r.IntN(3) == 0 {
			row.BranchIDs = []int64{3}
		}
		if r.IntN(5) == 0 {
			row.FormerLabIDs = []int64{15 - row.LabID}
		}
		all = append(all, row)
	}
	return all
}

// texts generates texts that users may type: values of patients, parts and combinations of them, and noise.
func texts(all rows) *rapid.Generator[string] {
	value := rapid.Custom(func(t *rapid.T) string {
		row := rapid.SampledFrom(all).Draw(t, "row")
		values := []string{row.FullName, row.Contact, row.Email, row.LabPatientID, strconv.FormatInt(row.UserID, 10), strconv.FormatInt(row.BillIDs[0], 10)}
		values = append(append(append(values, row.OrderNumbers...), row.SampleIDs...), someWords...)
		v := rapid.SampledFrom(values).Draw(t, "value")
		cut := rapid.IntRange(0, len(v)).Draw(t, "cut")
		return rapid.SampledFrom([]string{v, v, v[:cut], v[cut:], strings.ToLower(v), strings.ReplaceAll(v, " ", "  ")}).Draw(t, "part")
	})
	several := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(value, 1, 3).Draw(t, "values"), " ")
	})
	return rapid.OneOf(value, several, rapid.StringOfN(rapid.RuneFrom([]rune("rahulsm 0123459-/")), 1, 12, -1))
}

func TestTheIndexAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	i := open(t)
	all := crowd()
	i.Put(all...)
	property.Check(t, func(rt *rapid.T) {
		text := texts(all).Draw(rt, "text")
		q, err := search.NewQuery(search.Request{Query: text, Key: string(rapid.SampledFrom(modelled()).Draw(rt, "key"))}, 100)
		if err != nil {
			rt.Skip("the request is refused")
		}
		scope := lab(t, rapid.Int64Range(7, 8).Draw(rt, "lab"))
		scope.BranchID = rapid.SampledFrom([]int64{0, 0, 3}).Draw(rt, "branch")
		i.agrees(t, rt, all, q, scope)
	})
}

// modelled returns the keys that the model supports.
func modelled() []search.Key {
	return slices.DeleteFunc(search.Keys(), func(k search.Key) bool { return k == search.Duplicate })
}

// TestTheIndexAgreesWithTheModelOn repeats texts for which index and model once differed.
func TestTheIndexAgreesWithTheModelOn(t *testing.T) {
	t.Parallel()
	i := open(t)
	all := crowd()
	i.Put(all...)
	for name, r := range map[string]search.Request{
		"what stands beside a part of a sample is not dropped": {Query: "rahul@", Key: "sample"},
		"nor what stands before it":                            {Query: "@rahul", Key: "sample"},
		"nor within":                                           {Query: "rahul@x", Key: "order"},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := search.NewQuery(r, 100)
			if err != nil {
				t.Fatal(err)
			}
			i.agrees(t, t, all, q, lab(t, 7))
		})
	}
}

// reporter is implemented by *testing.T and *rapid.T.
type reporter interface {
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func (i *index) agrees(t *testing.T, report reporter, all rows, q search.Query, scope search.Scope) {
	t.Helper()
	want := map[int64]int{}
	for n := range all {
		if power := closeness(&all[n], q.Text, q.Fields); power > 0 && visible(&all[n], scope.Lab.LabID(), scope.BranchID) {
			want[all[n].UserID] = power
		}
	}
	for _, effort := range []search.Effort{search.Reduced, search.Full} {
		r, err := i.store.Search(t.Context(), scope, q, effort)
		if err != nil {
			report.Fatal(err)
		}
		consistent(t, q.Text, scope.Lab.LabID(), r)
		strangers(report, all, r, scope)
		if diff := cmp.Diff(want, powers(r, want, effort)); diff != "" {
			report.Errorf("%q by %s with effort %d: %s", q.Text, q.Key, effort, diff)
		}
	}
}

// powers returns the tiers of the hits as powers of ten. With full effort, it omits hits that may have been found only
// by sound or with a typing error.
func powers(r search.Result, want map[int64]int, effort search.Effort) map[int64]int {
	found := map[int64]int{}
	for _, h := range r.Hits {
		if power := int(math.Log10(h.Score) + 1e-9); effort != search.Full || power > modelMixed || want[h.UserID] > 0 {
			found[h.UserID] = power
		}
	}
	return found
}

func strangers(t reporter, all rows, r search.Result, scope search.Scope) {
	for _, h := range r.Hits {
		n := slices.IndexFunc(all, func(row indextest.Row) bool { return row.UserID == h.UserID })
		if !visible(&all[n], scope.Lab.LabID(), scope.BranchID) {
			t.Errorf("patient %d must not be seen", h.UserID)
		}
	}
}

func TestAnyTextIsAnswered(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(crowd()...)
	answered := func(text string) {
		q, err := search.NewQuery(search.Request{Query: text}, 10)
		if err != nil {
			return
		}
		for _, effort := range []search.Effort{search.Full, search.Reduced, search.Least} {
			if _, err := i.store.Search(t.Context(), lab(t, 7), q, effort); err != nil {
				t.Errorf("%q with effort %d: %v", text, effort, err)
			}
		}
	}
	for _, text := range []string{strings.Repeat("a ", 64), strings.Repeat("abcdefgh", 16), strings.Repeat("9", 128), strings.Repeat("abcd ", 25), "1 2 3 4 5 6", "ab1 ab2 ab3 ab4 ab5 ab6",
		"rahul sharma kumar 98765 S-1 om", strings.Repeat("王", 128), strings.Repeat("%_*?\"\\", 21), "{\"match_all\":{}}", "\U0001F600", "a\u0300\u0301", "---", "+91", "'", "’"} {
		answered(text)
	}
	property.Check(t, func(rt *rapid.T) { answered(rapid.StringN(1, 128, -1).Draw(rt, "text")) })
}
