package mysql

import (
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const countedNow = 1_000_000 // epoch seconds; notifications of the last minute before are not counted

// count is a count with a limit of 3 that found one old notification and the fresh ones.
type count struct {
	part   counted
	window notification.Window
	fresh  found

	rest int64 // start of the rest to count
	want counted
	save bool
}

func TestTheCountedPartFollowsACount(t *testing.T) {
	t.Parallel()
	month := notification.Window{From: 0, To: countedNow}
	part := counted{From: 0, Until: 900_000, unread: []int64{1}, version: 7, stored: true}
	begun := func(until int64, unread ...int64) counted {
		return counted{From: 0, Until: until, unread: unread, version: 7, stored: true}
	}
	for name, c := range map[string]count{
		"everything older than a minute is counted": {
			part, month, found{}, 900_001, begun(999_940, 1), true},
		"unread notifications are kept": {
			part, month, found{[]int64{5, 6}, []int64{950_000, 999_941}}, 900_001, begun(999_940, 1, 5), true},
		"a count that stops at its limit has read all before its oldest": {
			part, month, found{[]int64{5, 6, 7}, []int64{950_000, 950_001, 950_002}}, 900_001, begun(949_999, 1), true},
		"as many unread ones as are counted are not kept": {
			part, month, found{[]int64{5, 6}, []int64{950_000, 950_001}}, 900_001, begun(999_940, 1, 5, 6), false},
		"a step of less than ten minutes is not stored": {
			begun(999_500, 1), month, found{}, 999_501, begun(999_940, 1), false},
		"a window that begins earlier is counted from its beginning": {
			counted{From: 100, Until: 900_000, version: 7, stored: true}, month, found{}, 0, begun(999_940, 1), true},
		"a window that ends earlier is counted from its beginning": {
			part, notification.Window{From: 0, To: 800_000}, found{}, 0, begun(800_000, 1), true},
		"an inbox that was not counted yet": {
			counted{}, month, found{}, 0, counted{From: 0, Until: 999_940, unread: []int64{1}}, true},
		"a part that was reset": {
			begun(0), month, found{}, 0, begun(999_940, 1), true},
	} {
		if got := c.part.rest(c.window); got.From != c.rest || got.To != c.window.To {
			t.Errorf("%s: counts %+v, want it from %d", name, got, c.rest)
		}
		got, save := c.part.next(c.window, []int64{1}, c.fresh, 3, time.Unix(countedNow, 0))
		same := got.From == c.want.From && got.Until == c.want.Until && slices.Equal(got.unread, c.want.unread) &&
			got.version == c.want.version && got.stored == c.want.stored
		if !same || save != c.save {
			t.Errorf("%s: %+v, stored %v; want %+v, %v", name, got, save, c.want, c.save)
		}
	}
}
