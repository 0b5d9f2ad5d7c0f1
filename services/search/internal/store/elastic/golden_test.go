package elastic_test

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

var update = flag.Bool("update", false, "write the golden files")

var timeout = regexp.MustCompile(`"timeout":"\d+ms"`)

// TestTheRequestsAreTheAgreedOnes compares all requests for a text without hits with golden files.
func TestTheRequestsAreTheAgreedOnes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		key    search.Key
		effort search.Effort
		change func(*elastic.Config)
	}{
		"a_word":               {"rahul", search.All, search.Full, nil},
		"a_name":               {"Rahul Sha", "name", search.Full, nil},
		"a_name_reduced":       {"Rahul Sha", "name", search.Reduced, nil},
		"a_name_least":         {"Rahul Sha", search.All, search.Least, nil},
		"a_telephone":          {"+91 98765-43210", "contact", search.Full, nil},
		"first_or_last_digits": {"98765", search.All, search.Full, nil},
		"digits_least":         {"98765", search.All, search.Least, nil},
		"an_identifier":        {"S-001", "sample", search.Full, nil},
		"an_email":             {"R@x.in", "email", search.Full, nil},
		"mixed":                {"rahul 98765", search.All, search.Full, nil},
		"mixed_reduced":        {"rahul 98765", search.All, search.Reduced, nil},
		"literals":             {`%_*?"\`, search.All, search.Full, nil},
		"recency":              {"om", "name", search.Full, func(c *elastic.Config) { c.RecencyEnabled = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got.Write(append(bytes.ReplaceAll(body, []byte(`{"constant_score"`), []byte("\n{\"constant_score\"")), '\n'))
				answers(200, `{"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}`)(w, r)
			}, func(cfg *elastic.Config) {
				if c.change != nil {
					c.change(cfg)
				}
			})
			scope := lab(t, 7)
			scope.BranchID, scope.OrgID, scope.CCID = 3, 45, 9
			if _, err := store.Search(t.Context(), scope, query(t, c.text, c.key), c.effort); err != nil {
				t.Fatal(err)
			}
			compare(t, filepath.Join("testdata", name+".golden.json"), timeout.ReplaceAll(got.Bytes(), []byte(`"timeout":"any"`)))
		})
	}
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the request changed; go test ./internal/store/elastic -update writes the file:\n%s", diff)
	}
}
