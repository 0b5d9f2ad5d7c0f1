package progress_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/progress"
)

func TestALineIsWrittenAtEachIntervalUntilTheStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var out strings.Builder
		stop := progress.Every(2*time.Second, &out, func() string { return fmt.Sprint("at work for ", time.Since(begin)) })
		<-time.After(5 * time.Second)
		stop()
		<-time.After(time.Minute)
		if got, want := out.String(), "at work for 2s\nat work for 4s\n"; got != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
	})
}
