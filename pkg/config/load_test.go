package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	Port    int    `env:"PORT" envDefault:"9003" max:"65535"`
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

type limits struct {
	Workers  int           `env:"WORKERS" envDefault:"4" min:"1"`
	Share    float64       `env:"SHARE" envDefault:"0.5" max:"1"`
	Patience time.Duration `env:"PATIENCE" envDefault:"5s" min:"100ms"`
	On       bool          `env:"ON"`
	Level    slog.Level    `env:"LEVEL" envDefault:"INFO"`
	CertFile string        `env:"CERT_FILE"`
	Cert     string        `env:"CERT"`
}

func TestEveryInvalidValueIsReported(t *testing.T) {
	t.Parallel()
	for pair, says := range map[string]string{
		"X_WORKERS=0":                    "X_WORKERS is 0: it must be at least 1",
		"X_WORKERS=-3":                   "X_WORKERS is -3: it must be at least 1",
		"X_WORKERS=many":                 `X_WORKERS is "many": give a whole number`,
		"X_WORKERS=1e400":                "give a whole number",
		"X_WORKERS=99999999999999999999": "give a whole number",
		"X_SHARE=-0.1":                   "X_SHARE is -0.1: it must be at least 0",
		"X_SHARE=1.5":                    "X_SHARE is 1.5: it must be at most 1",
		"X_SHARE=NaN":                    "give a number",
		"X_SHARE=1e400":                  "give a number",
		"X_PATIENCE=5":                   "give a duration, such as 500ms or 2m",
		"X_PATIENCE=-1s":                 "X_PATIENCE is -1s: it must be at least 100ms",
		"X_LEVEL=LOUD":                   `X_LEVEL is "LOUD": `,
		"X_ON=perhaps":                   `X_ON is "perhaps": give true or false`,
	} {
		err := config.Load("X_", &limits{}, []string{pair})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Load with %s = %v, want an error with %q", pair, err, says)
		}
	}
	err := config.Load("X_", &limits{}, []string{"X_WORKERS=0", "X_SHARE=2", "X_ON=perhaps"})
	if err == nil || strings.Count(err.Error(), "\nX_") != 3 {
		t.Errorf("error = %v, want three problems, one per line", err)
	}
	err = config.Load("RERUN_", &settings{}, []string{"RERUN_PORT=70000", "RERUN_DB_HOST=nowhere"})
	if err == nil || !strings.Contains(err.Error(), "RERUN_PORT is 70000") || !strings.Contains(err.Error(), "HOST cannot be nowhere") {
		t.Errorf("error = %v, want the invalid port and the failed check", err)
	}
	got := limits{}
	if err := config.Load("X_", &got, []string{"X_WORKERS=", "X_SHARE=1", "X_PATIENCE=100ms", "X_LEVEL=DEBUG"}); err != nil ||
		got.Workers != 4 || got.Share != 1 || got.Level != slog.LevelDebug {
		t.Errorf("values at the bounds: %+v, error %v, want them accepted", got, err)
	}
}

func TestOnlyFilesOfKnownSettingsAreOpened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const absent = "/does/not/exist"
	var got settings
	err := config.Load("X_", &got, []string{"OTHER_PASSWORD_FILE=" + absent, "GPG_SECRET_FILE=" + absent, "AWS_WEB_IDENTITY_TOKEN_FILE=" + absent,
		"X_UNKNOWN_PASSWORD_FILE=" + absent, "WEBHOOK_URL_FILE=" + file})
	if err != nil || got.Webhook != "from a file" {
		t.Fatalf("settings = %+v, error %v, want the webhook's value from its file", got, err)
	}
	var own limits // CERT_FILE is itself a setting; its value is a path
	if err := config.Load("X_", &own, []string{"X_CERT_FILE=" + absent}); err != nil || own.CertFile != absent || own.Cert != "" {
		t.Fatalf("settings = %+v, error %v, want CERT_FILE as given and no CERT", own, err)
	}
	if err := os.WriteFile(file, make([]byte, 64<<10+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := config.Load("X_", &got, []string{"X_DB_PASSWORD_FILE=" + file}); err == nil || !strings.Contains(err.Error(), "must hold one value only") {
		t.Fatalf("file above 64 KiB: error = %v, want it refused", err)
	}
}

func TestVariablesInjectedByKubernetesAreExplained(t *testing.T) {
	t.Parallel()
	injected := []string{"X_PORT=tcp://10.0.0.7:8090", "X_SERVICE_HOST=10.0.0.7", "X_SERVICE_PORT=8090", "X_SERVICE_PORT_HTTP=8090",
		"X_PORT_8090_TCP=tcp://10.0.0.7:8090", "X_PORT_8090_TCP_PROTO=tcp", "X_PORT_8090_TCP_PORT=8090", "X_PORT_8090_TCP_ADDR=10.0.0.7"}
	err := config.Load("X_", &settings{}, injected)
	if err == nil || !strings.Contains(err.Error(), "enableServiceLinks: false") || !strings.Contains(err.Error(), "X_PORT is") {
		t.Fatalf("error = %v, want an explanation of X_PORT with enableServiceLinks", err)
	}
	if unknown := config.Unknown("X_", &settings{}, append(injected, "X_PROT=1")); !cmp.Equal(unknown, []string{"X_PROT"}) {
		t.Fatalf("unknown variables = %v, want X_PROT only", unknown)
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
				t.Fatal("Load = nil, want an error")
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
			t.Fatalf("output contains the secret: %s", text)
		}
	}
	for _, want := range []string{"X_PORT", "WEBHOOK_URL", "X_DB_PASSWORD", "***"} {
		if !strings.Contains(b.String(), want) {
			t.Fatalf("output lacks %q:\n%s", want, b.String())
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
