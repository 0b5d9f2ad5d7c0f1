package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/config"
)

type store struct {
	Host     string        `env:"HOST" envDefault:"localhost"`
	Password config.Secret `env:"PASSWORD"`
}

func (s *store) Validate() error {
	if s.Host == "nowhere" {
		return errors.New("HOST cannot be nowhere")
	}
	return nil
}

type settings struct {
	Port    int    `env:"PORT" envDefault:"9003"`
	Webhook string `env:"WEBHOOK_URL" absolute:"true"`
	DB      store  `envPrefix:"DB_"`
}

func TestLoadReadsPrefixNestedFileAndAbsoluteNames(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got settings
	err := config.Load("RERUN_", &got, []string{
		"RERUN_PORT=7", "WEBHOOK_URL=http://gateway", "RERUN_DB_HOST=db", "RERUN_DB_PASSWORD_FILE=" + file,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := settings{Port: 7, Webhook: "http://gateway", DB: store{Host: "db", Password: "s3cret"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestLoadReportsProblems(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"not a number":       {"X_PORT=many"},
		"value and file":     {"X_DB_PASSWORD=a", "X_DB_PASSWORD_FILE=/b"},
		"file missing":       {"X_DB_PASSWORD_FILE=/does/not/exist"},
		"nested check fails": {"X_DB_HOST=nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got settings
			if err := config.Load("X_", &got, environ); err == nil {
				t.Fatal("no error")
			}
		})
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	cfg := settings{DB: store{Host: "db", Password: "s3cret"}}
	var b strings.Builder
	if err := config.Print(&b, "X_", &cfg); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{b.String(), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg.DB.Password)} {
		if strings.Contains(text, "s3cret") {
			t.Fatalf("secret printed: %s", text)
		}
	}
	for _, want := range []string{"X_PORT", "WEBHOOK_URL", "X_DB_PASSWORD", "***"} {
		if !strings.Contains(b.String(), want) {
			t.Fatalf("%q missing in:\n%s", want, b.String())
		}
	}
}

func TestUnknownNamesMisspeltVariables(t *testing.T) {
	t.Parallel()
	got := config.Unknown("X_", &settings{}, []string{"X_PORT=1", "X_DB_HOSTT=db", "X_DB_PASSWORD_FILE=/f", "OTHER=1"})
	if diff := cmp.Diff([]string{"X_DB_HOSTT"}, got); diff != "" {
		t.Fatal(diff)
	}
}
