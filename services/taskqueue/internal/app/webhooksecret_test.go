package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
)

func TestTheSecretOfALaboratorysWebhooksIsShown(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 32)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("laboratory 12"))
	want := "whsec_" + base64.StdEncoding.EncodeToString(mac.Sum(nil)) + "\n"
	var out strings.Builder
	for _, v := range app.Verbs([]string{"TASKQUEUE_SERVICE_TOKEN_SECRET=" + serviceSecret, "TASKQUEUE_WEBHOOK_SECRET=" + key}, &out, io.Discard) {
		if v.Name != "webhook-secret" {
			continue
		}
		flags := flagSet(v)
		if err := v.Run(t.Context(), nil); err == nil {
			t.Error("no laboratory was named")
		}
		if err := flags.Set("lab", "12"); err != nil {
			t.Fatal(err)
		}
		if err := v.Run(t.Context(), nil); err != nil || out.String() != want {
			t.Errorf("%q, %v, want %q", out.String(), err, want)
		}
		return
	}
	t.Error("no such verb")
}
