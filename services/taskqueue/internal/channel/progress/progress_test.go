package progress_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
)

func TestWhatIsWrittenIsReadAndTheRestOfTheDataStays(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		marks := rapid.SliceOf(rapid.SampledFrom([]progress.Mark{progress.Left, progress.Sent, progress.Dead, progress.Refused})).Draw(t, "marks")
		data := progress.Write([]byte(`{"title":"x","_parts":"ss"}`), marks)
		if diff := cmp.Diff(marks, progress.Read(data, len(marks)), cmp.Transformer("text", func(m []progress.Mark) string { return string(m) })); diff != "" {
			t.Fatal(diff)
		}
		if again := progress.Write(data, marks); string(again) != string(data) {
			t.Fatalf("%s became %s", data, again)
		}
	})
}

func TestMarksThatDoNotFitAreForgotten(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{}`, `{"_parts":"s"}`, `{"_parts":7}`, `{"_parts":"sss"}`, `{"_parts":"xy"}`, `nonsense`} {
		if got := progress.Read([]byte(data), 2); string(got) != ".." {
			t.Errorf("%s: %s", data, string(got))
		}
	}
	if got := progress.Write([]byte(`nonsense`), nil); string(got) != "nonsense" {
		t.Errorf("%s", got)
	}
}
