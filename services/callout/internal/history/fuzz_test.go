package history_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/callout/internal/history"
)

// FuzzAListOfIDsIsReadExactly checks that an accepted list yields exactly its numbers, each once.
func FuzzAListOfIDsIsReadExactly(f *testing.F) {
	for _, text := range []string{"7001,7002", "7001,7001", "", ",", "0", "-1", "1,", "99999999999999999999", "٣"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := history.ParseIDs("report_ids", text)
		if err != nil {
			return
		}
		read := map[int64]bool{}
		for _, id := range ids {
			read[id] = true
		}
		written := map[int64]bool{}
		for part := range strings.SplitSeq(text, ",") {
			id, err := strconv.ParseInt(part, 10, 64)
			if err != nil || !read[id] {
				t.Errorf("%q is parsed as %v, want each of its numbers once", text, ids)
			}
			written[id] = true
		}
		if len(ids) != len(written) || len(ids) > history.MaxIDs {
			t.Errorf("%q is parsed as %v, want each of its numbers once", text, ids)
		}
	})
}
