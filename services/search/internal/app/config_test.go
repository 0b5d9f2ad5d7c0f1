package app_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/search/internal/app"
)

const secret = "SEARCH_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"

// documented maps the variables of the interface document to their defaults; "" if the document has no default.
var documented = map[string]string{
	"HOST": "127.0.0.1", "PORT": "8000", "WORKERS_COUNT": "1", "ENVIRONMENT": "dev", "LOG_LEVEL": "INFO", "LOG_JSON": "true",
	"ES_URL": "[http://localhost:9210]", "ES_USER": "", "ES_PASSWORD": "", "ES_API_KEY": "", "ES_CA_CERT": "/app/certs/ca.crt", "ES_MAX_RETRIES": "3",
	"ES_REQUEST_TIMEOUT": "30", "ES_SEARCH_TIMEOUT": "5", "ES_MAX_CONNECTIONS": "20", "ES_CAPTURE_SEARCH_QUERY": "false", "DEFAULT_SIZE": "10",
	"RECENCY_DECAY_ENABLED": "false", "RECENCY_DECAY_SCALE_DAYS": "90", "RECENCY_DECAY_OFFSET_DAYS": "7", "RECENCY_DECAY_FACTOR": "0.5",
	"RECENCY_DECAY_WEIGHT": "1.5", "CDC_STALE_THRESHOLD_SECONDS": "600", "CDC_PROBE_INTERVAL_SECONDS": "30", "KV_HOST": "localhost",
	"KV_PORT": "7001", "KV_CONNECTION_TYPE": "cluster", "KV_USER": "", "KV_PASS": "", "SESSION_COOKIE_AGE": "28800", "JWT_SECRET": "",
	"PY2_JWT_SECRET": "", "EPHEMERAL_JWT_SECRET": "", "EPHEMERAL_JWT_MAX_AGE_SECONDS": "300", "RATE_LIMIT_KV_URL": "", "RATE_LIMIT_PER_MINUTE": "120",
	"RATE_LIMIT_DEGRADED_PER_MINUTE": "30", "RATE_LIMIT_EMERGENCY_PER_MINUTE": "5", "RATE_LIMIT_CONFIG_CACHE_TTL": "5", "DB_HOST": "",
	"DB_PORT": "3306", "DB_USER": "", "DB_PASSWORD": "", "DB_DATABASE": "", "DB_POOL_SIZE": "10", "DB_POOL_RECYCLE": "3600",
	"OPENTELEMETRY_ENDPOINT": "", "OPENTELEMETRY_API_KEY": "", "DEPLOYMENT_REGION": "ap-south-1", "ERROR_REPORTING_DSN": "",
	"ERROR_REPORTING_SAMPLE_RATE": "1",
}

func TestEveryDocumentedVariableIsThereWithItsDefault(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{secret})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := config.Print(&table, app.Prefix, &cfg); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(table.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[strings.TrimPrefix(name, app.Prefix)] = strings.TrimSpace(value)
	}
	for name, want := range documented {
		value, there := got[name]
		if !there || want != "" && value != want {
			t.Errorf("%s%s = %q (there: %v), want %q", app.Prefix, name, value, there, want)
		}
	}
}

func TestBothListenersAreOnTheHost(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{secret, "SEARCH_HOST=0.0.0.0"})
	if err != nil || cfg.REST.Host != "0.0.0.0" || cfg.GRPC.Host != "0.0.0.0" || cfg.GRPC.GRPCPort != 9001 {
		t.Fatalf("%+v, %+v, %v", cfg.REST, cfg.GRPC, err)
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"SEARCH_DEFAULT_SIZE=0":         "DEFAULT_SIZE must be from 1 to 100",
		"SEARCH_DEFAULT_SIZE=101":       "DEFAULT_SIZE must be from 1 to 100",
		"SEARCH_WORKERS_COUNT=0":        "WORKERS_COUNT must be at least 1",
		"SEARCH_PATH_PREFIX=search":     "PATH_PREFIX must begin with /",
		"SEARCH_RATE_LIMIT_KV_URL=nope": "redis://",
	} {
		if _, err := app.Load([]string{secret, setting}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
	if _, err := app.Load([]string{secret, "SEARCH_ES_CAPTURE_SEARCH_QUERY=true", "SEARCH_ENVIRONMENT=production"}); err == nil ||
		!strings.Contains(err.Error(), "must be false in production") {
		t.Errorf("capture in production: %v", err)
	}
}
