package config_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/config"
)

func TestShortAndRepeatedKeysAreRefused(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	for want, keys := range map[string]config.Keys{
		"":                               {{"A", config.Secret(a + "," + b)}, {"B", ""}, {"C", ""}},
		"A must have at least 32 bytes":  {{"A", "short"}},
		"B must have at least 32 bytes":  {{"A", config.Secret(a)}, {"B", config.Secret(b + ",")}},
		"A and B must differ":            {{"A", config.Secret(a)}, {"B", config.Secret(b + "," + a)}},
		"A names the same secret twice":  {{"A", config.Secret(a + "," + a)}},
		"A begins or ends with a space":  {{"A", config.Secret(a + ", " + b)}},
		"and so must each key of a list": {{"A", config.Secret(a + ",old")}},
	} {
		err := keys.Check()
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("Check = %v, want an error with %q", err, want)
		}
	}
}
