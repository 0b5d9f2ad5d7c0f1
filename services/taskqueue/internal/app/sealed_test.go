package app_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// stored returns the names and values of all keys in the process's Redis as text.
func (p *process) stored() string {
	p.t.Helper()
	client, ctx := p.redis.Client(), p.t.Context()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		p.t.Fatal(err)
	}
	var all strings.Builder
	for _, key := range keys {
		dump, err := client.Do(ctx, "DUMP", key).Text()
		if err != nil {
			p.t.Fatal(err)
		}
		text, _ := client.Get(ctx, key).Result() // DUMP might compress it
		all.WriteString(key + dump + text)
	}
	return all.String()
}

func TestPayloadsAreSealedInRedisAndOpenAtTheReceiver(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	if err := os.WriteFile(filepath.Join(keys, "2026-11"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	var authorized atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		authorized.Store(q.Header.Get("Authorization") == "Bearer canary-token")
	}))
	t.Cleanup(receiver.Close)
	p := newProcess(t, "TASKQUEUE_SEAL_KEYS_DIR="+keys)
	p.ready()
	client, ctx := p.client()
	later := now().AddDate(0, 6, 0).Format("2006-01-02T15:04:05")
	headers := map[string]string{"Authorization": "Bearer canary-token"}
	answer, err := client.Schedule(ctx, &taskqueuev1.ScheduleRequest{Tasks: []*taskqueuev1.ScheduledTask{
		{SchTime: later, Task: 1, TaskType: 2, Data: &typev1.RawJSON{Json: []byte(`{"contact":9812345678,"countryCode":91,"message":"Your code is 135790"}`)}},
		{SchTime: later, Task: 4, TaskType: 2, Data: webhookData(receiver.URL), Headers: headers},
	}})
	if err != nil {
		t.Fatal(err)
	}
	found := p.stored()
	for _, canary := range []string{"9812345678", "135790", "canary-token"} {
		if strings.Contains(found, canary) {
			t.Errorf("%s is readable in Redis", canary)
		}
	}
	hook, soon := answer.GetJobIds()[1], now().Format("2006-01-02T15:04:05")
	if _, err := client.RescheduleJob(ctx, &taskqueuev1.RescheduleJobRequest{JobId: &hook, RescAt: &soon}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the delivery", func() bool { return p.status(hook) == "finished" })
	if !authorized.Load() {
		t.Error("the receiver did not get the header")
	}
}
