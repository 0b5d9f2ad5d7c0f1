package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/callout/internal/history"
)

func TestIDsAreDigitsAndCommas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7001": "[7001]", "7001,7002,7001": "[7001 7002]", "007": "[7]", "999999999999999999": "[999999999999999999]",
	} {
		if got, err := history.ParseIDs("report_ids", text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", ",", "1,", ",1", "1,,2", "x", "1 ,2", " 1", "-1", "+1", "1.0", "1e3", "٣", "1;DROP TABLE labs", "9999999999999999999",
		strings.Repeat("1,", 500) + "1",
	} {
		if got, err := history.ParseIDs("report_ids", text); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%q: got %v, %v, want kind Invalid", text, got, err)
		}
	}
}

func TestTooManyIDsAreRefusedBeforeTheyAreParsed(t *testing.T) {
	t.Parallel()
	_, err := history.ParseIDs("report_ids", strings.Repeat("7,", 100_000)+"x")
	if !apperr.Is(err, apperr.Invalid) || !strings.Contains(err.Error(), "more than 500") {
		t.Error(err)
	}
}
