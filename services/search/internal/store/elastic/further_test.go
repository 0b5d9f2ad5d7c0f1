package elastic_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// oneOf returns a response with the given total that contains one hit.
func oneOf(total int, userID int64, score float64) string {
	one := hit(fmt.Sprintf(`{"user_id":%d,"lab_id":7,"full_name":"Rahul"}`, userID), score, userID)
	return fmt.Sprintf(`{"hits":{"total":{"value":%d,"relation":"eq"},"hits":[%s]}}`, total, one)
}

const nobody = `{"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}`

func TestFurtherRequestsLookForWhoIsNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		answers []string
		want    []int64
		total   int64
		asked   [][]string // words expected in each request; words after ! must be missing
	}{
		"all on the page are left out": {"rahul", []string{oneOf(1, 1, 1e9), oneOf(1, 2, 1)}, []int64{1, 2}, 2, [][]string{
			{`"size":100`, `full_name.keyword`, `!must_not`}, {`"size":99`, `"must_not":{"term":{"user_id":"1"}}`, `!full_name.keyword`, `!fuzziness`}}},
		"others are found again": {"rahul", []string{oneOf(2, 1, 1e9), oneOf(3, 1, 1e9)}, []int64{1}, 3, [][]string{
			{`"size":100`}, {`"size":100`, `full_name.keyword`, `!must_not`}}},
		"two errors when no one is found": {"venkatesh", []string{nobody, nobody, oneOf(1, 3, 1)}, []int64{3}, 1, [][]string{
			{`!fuzziness`}, {`!fuzziness`, `full_name_deletions`}, {`"fuzziness":2`}}},
		"but not in short words":            {"rahul", []string{nobody, nobody}, nil, 0, [][]string{{`!fuzziness`}, {`!fuzziness`}}},
		"nor when someone sounds like that": {"venkatesh", []string{nobody, oneOf(1, 3, 1)}, []int64{3}, 1, [][]string{{}, {`!fuzziness`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, asked := answering(t, c.answers...)
			r, err := store.Search(t.Context(), lab(t, 7), query(t, c.text, search.All), search.Full)
			if err != nil || r.Total != c.total || !slices.Equal(ids(r), c.want) || r.ByBucket[search.Patient] != c.total {
				t.Errorf("%d hits %v, buckets %v, error %v", r.Total, ids(r), r.ByBucket, err)
			}
			checkRequests(t, asked(), c.asked)
		})
	}
}

// answering returns a store whose engine responds with the given bodies in turn and repeats the last one. asked returns
// the requests.
func answering(t *testing.T, bodies ...string) (store *elastic.Store, asked func() []string) {
	t.Helper()
	var sent []string
	store = scripted(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body))
		answers(200, bodies[min(len(sent), len(bodies))-1])(w, r)
	})
	return store, func() []string { return sent }
}

// checkRequests checks that each request contains its words and does not contain those after !.
func checkRequests(t *testing.T, asked []string, want [][]string) {
	t.Helper()
	if len(asked) != len(want) {
		t.Fatalf("%d requests", len(asked))
	}
	for n, words := range want {
		for _, word := range words {
			if lacks, not := strings.CutPrefix(word, "!"); strings.Contains(asked[n], lacks) == not {
				t.Errorf("request %d, %q: %s", n+1, word, asked[n])
			}
		}
	}
}
