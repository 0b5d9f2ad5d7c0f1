package notification

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

// defaultWindow is the window of a request without dates.
const defaultWindow = 30 * 24 * time.Hour

// Window is a period of time in epoch seconds, inclusive at both ends.
type Window struct{ From, To int64 }

// ParseWindow parses ISO dates or date-times. Without to, the window ends now. Without from, it begins 30 days before
// its end. A date means the whole day in zone, and a date-time without an offset is in zone as well.
func ParseWindow(from, to string, zone *time.Location, now time.Time) (Window, error) {
	w := Window{To: now.Unix()}
	if to != "" {
		_, end, ok := labtime.Parse(to, zone)
		if !ok {
			return Window{}, notADate("to")
		}
		w.To = end.Unix()
	}
	w.From = time.Unix(w.To, 0).Add(-defaultWindow).Unix()
	if from != "" {
		begin, _, ok := labtime.Parse(from, zone)
		if !ok {
			return Window{}, notADate("from")
		}
		w.From = begin.Unix()
	}
	if w.From > w.To {
		return Window{}, apperr.InvalidField("from", "from must not be later than to")
	}
	return w, nil
}

func notADate(field string) error {
	return apperr.InvalidField(field, field+" must be a date like 2026-11-20 or a date-time like 2026-11-20T10:00:00Z")
}
