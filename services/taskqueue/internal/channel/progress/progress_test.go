package progress_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func TestWhatIsStoredIsRead(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		marks := rapid.SliceOf(rapid.SampledFrom([]byte{progress.Left, progress.Sent, progress.Dead, progress.Refused})).Draw(t, "marks")
		got := progress.Read(&job.Body{Progress: marks}, len(marks))
		if diff := cmp.Diff(string(marks), string(got)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestMarksThatDoNotFitAreForgotten(t *testing.T) {
	t.Parallel()
	for _, b := range []job.Body{{}, {Progress: []byte("s")}, {Progress: []byte("sss")}, {Progress: []byte("xy")}, {Data: []byte(`{"_parts":"ss"}`)}} {
		if got := progress.Read(&b, 2); string(got) != ".." {
			t.Errorf("got %+v: %s, want ..", b, got)
		}
	}
}
