package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// canary stands for patient data that no log may contain.
const canary = "Rahul O'Brien 9876543210"

type stringer struct{}

func (stringer) String() string { return `row "` + canary + `" is odd` }

type valuer struct{}

func (valuer) LogValue() slog.Value { return slog.AnyValue(errors.New("near '" + canary + "'")) }

type record struct{ Name string }

func TestErrorsAreLoggedWithoutPatientData(t *testing.T) {
	t.Parallel()
	duplicate := errors.New("Error 1062 (23000): Duplicate entry '" + canary + "' for key 'patient.contact'")
	values := map[string]any{
		"error":         duplicate,
		"wrapped":       fmt.Errorf("save report: %w", duplicate),
		"joined":        errors.Join(duplicate, duplicate),
		"list":          []error{duplicate, duplicate},
		"typed":         apperr.New(apperr.Internal, "X", "near '"+canary+"'").WithCause(duplicate),
		"text":          duplicate.Error(),
		"bytes":         []byte(duplicate.Error()),
		"stringer":      stringer{},
		"valuer":        valuer{},
		"structure":     record{canary},
		"pointer":       &record{canary},
		"map":           map[string]string{"name": canary},
		"group":         slog.GroupValue(slog.Any("first", duplicate), slog.Group("deeper", "second", record{canary})),
		"backquoted":    errors.New("parse `" + canary + "`"),
		"cut off":       errors.New("syntax error near '" + canary),
		"can't":         errors.New("can't read '" + canary + "'"),
		"none, of type": error(nil),
	}
	for name, value := range values {
		for _, format := range []bool{true, false} {
			for _, key := range []string{"error", "err", "cause"} {
				var out bytes.Buffer
				log := newLogger(t, &out, format)
				log.Error("a call failed", key, value)
				log.With(key, value).Error("a call failed")
				log.WithGroup("call").Error("a call failed", slog.Group("inner", key, value))
				if text := out.String(); strings.Contains(text, "Rahul") || strings.Contains(text, "Brien") || strings.Contains(text, "98765") {
					t.Errorf("%s: log contains patient data: %s", name, text)
				}
			}
		}
	}
}

func TestErrorsKeepTheirUnquotedText(t *testing.T) {
	t.Parallel()
	for in, want := range map[any]string{
		errors.New("Error 1205 (HY000): Lock wait timeout exceeded"):   "Error 1205 (HY000): Lock wait timeout exceeded",
		errors.New("can't reach the server"):                           "can't reach the server",
		errors.New("Error 1054: Unknown column 'x'; restart (code 7)"): "Error 1054: Unknown column '…'; restart (code 7)",
		"dial tcp: lookup db on 10.0.0.2: no such host":                "dial tcp: lookup db on 10.0.0.2: no such host",
		42: "42",
	} {
		var out bytes.Buffer
		newLogger(t, &out, true).Error("a call failed", "error", in)
		if text := out.String(); !strings.Contains(text, want) {
			t.Errorf("log = %[2]s, want %[1]q in it", want, text)
		}
	}
}

func newLogger(t *testing.T, out *bytes.Buffer, json bool) *slog.Logger {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "rerun", "test", telemetry.Config{Environment: "dev", LogJSON: json}, out)
	if err != nil {
		t.Fatal(err)
	}
	return tel.Logger
}
