package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// Triggers are sent with retries while the service is killed twice. Each must be in the inbox once, and the outbox must
// become empty.
func TestNotificationsSurviveKills(t *testing.T) {
	const triggers, organization = 200, 4711
	token := internalToken(t)
	ctx := t.Context()
	var sent atomic.Int64
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < triggers; i += 4 {
				if err := triggerUntilTaken(ctx, token, organization, 890_000+i); err != nil {
					t.Error(err)
					return
				}
				sent.Add(1)
			}
		})
	}
	for _, after := range []int64{40, 120} {
		await.True(t, fmt.Sprint(after, " triggers"), func() bool { return sent.Load() >= after || t.Failed() })
		if err := stack.Kill("notifications"); err != nil {
			t.Fatal(err)
		}
		if err := stack.Start("notifications", nil); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if t.Failed() {
		return
	}
	reports := map[float64]int{}
	for _, n := range inboxOf(t, labSession) {
		data := n["message"].(map[string]any)["data"].(map[string]any)
		if data["org_id"] == float64(organization) {
			reports[data["lrr_id"].(float64)]++
		}
	}
	for report, times := range reports {
		if times != 1 {
			t.Errorf("report %v is in the inbox %d times", report, times)
		}
	}
	if len(reports) != triggers {
		t.Errorf("%d of %d triggers are in the inbox", len(reports), triggers)
	}
	awaitEmptyOutbox(t, "outbox_notifications")
}

// triggerUntilTaken repeats a trigger with its key until it succeeds, as another service's outbox does.
func triggerUntilTaken(ctx context.Context, token string, organization, report int) error {
	path := fmt.Sprintf("%sfcm/2/topic/notify?idempotency_key=kill-%d", notificationsPath, report)
	body := fmt.Sprintf(`{"lab_id":12,"org_id":%d,"lrr_id":%d}`, organization, report)
	for {
		got, err := send(ctx, stack.Endpoints.GatewayInternal, "", "POST", path, body, "Authorization", "Bearer "+token, "x-is-internal-request", "True")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && got.status == http.StatusOK && strings.Contains(got.body, `"success":true`):
			return nil
		case err == nil && got.status < http.StatusInternalServerError:
			return fmt.Errorf("report %d: %d %s", report, got.status, got.body)
		}
	}
}

// awaitEmptyOutbox waits until every message of a service is delivered.
func awaitEmptyOutbox(t *testing.T, table string) {
	t.Helper()
	db := openMySQL(t)
	await.Nil(t, "delivery of "+table, func() error {
		var waiting int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&waiting); err != nil {
			return err
		}
		if waiting > 0 {
			return fmt.Errorf("%d messages wait", waiting)
		}
		return nil
	})
}
