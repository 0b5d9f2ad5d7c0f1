package secrets_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
)

type fixed struct{ at time.Time }

func (f fixed) Now() time.Time { return f.at }

func TestSecretsAreMadeOnceForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := secrets.LoadOrCreate(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := secrets.LoadOrCreate(dir)
	if err != nil || again != first {
		t.Fatalf("second load: %v, %v", again == first, err)
	}
	seen := map[string]bool{}
	for _, secret := range []string{first.Service, first.Mobile, first.Legacy, first.Ephemeral} {
		if len(secret) != 64 || seen[secret] {
			t.Errorf("secret of %d characters, or twice the same", len(secret))
		}
		seen[secret] = true
	}
	info, err := os.Stat(filepath.Join(dir, "secrets.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestTheOperatorTokenIsGoodForTheGatewayForAMinute(t *testing.T) {
	t.Parallel()
	kept, err := secrets.LoadOrCreate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	token, err := kept.OperatorToken(fixed{now}, secrets.Gateway)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(c clock.Clock, audience string) (string, error) {
		return authn.NewServiceTokens(config.Secret(kept.Service), "gateway", c).Verify(token, audience)
	}
	if caller, err := verify(fixed{now}, "gateway"); err != nil || caller != "operator" {
		t.Fatalf("caller %q, %v", caller, err)
	}
	if _, err := verify(fixed{now.Add(2 * time.Minute)}, "gateway"); err == nil {
		t.Error("accepted after two minutes")
	}
	if _, err := verify(fixed{now}, "rerun"); err == nil {
		t.Error("accepted by another service")
	}
	token, err = kept.OperatorToken(fixed{now}, "taskqueue")
	if err != nil {
		t.Fatal(err)
	}
	if caller, err := verify(fixed{now}, "taskqueue"); err != nil || caller != "operator" {
		t.Errorf("for the task queue: caller %q, %v", caller, err)
	}
	if _, err := verify(fixed{now}, "gateway"); err == nil {
		t.Error("the task queue's token is good for the gateway")
	}
}
