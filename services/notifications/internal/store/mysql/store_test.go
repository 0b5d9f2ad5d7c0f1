package mysql_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

var (
	start      = storetest.Start
	all        = notification.Window{From: start.Add(-24 * time.Hour).Unix(), To: start.Add(24 * time.Hour).Unix()}
	everything = inbox.Page{Limit: 100}

	viewer = storetest.Viewer
	user   = storetest.User
	event  = storetest.Push
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ids(t *testing.T, s *storetest.Database, v notification.Viewer, w notification.Window, p inbox.Page) []int64 {
	t.Helper()
	list, err := s.List(t.Context(), v, w, p)
	must(t, err)
	var found []int64
	for _, n := range list {
		found = append(found, n.ID)
	}
	return found
}

func unread(t *testing.T, s *storetest.Database, v notification.Viewer, want int64) {
	t.Helper()
	if n, err := s.Unread(t.Context(), v, all, 100); err != nil || n != want {
		t.Fatalf("unread %d, %v, want %d", n, err, want)
	}
}
