package labjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/labjson"
)

func TestMustNamesJSONTypes(t *testing.T) {
	t.Parallel()
	type inner struct{ A int }
	var dst struct {
		Text   string
		Flag   *bool
		Count  uint8
		Ratio  float32
		List   []string
		Map    map[string]string
		Object inner
	}
	for body, want := range map[string]string{
		`{"Text":1}`: "must be a text", `{"Flag":1}`: "must be true or false", `{"Count":"x"}`: "must be an integer",
		`{"Ratio":[]}`: "must be a number", `{"List":{}}`: "must be a list", `{"Map":[]}`: "must be an object", `{"Object":7}`: "must be an object",
	} {
		var wrong *json.UnmarshalTypeError
		if err := json.Unmarshal([]byte(body), &dst); !errors.As(err, &wrong) || labjson.Must(wrong.Type) != want {
			t.Errorf("Unmarshal(%s): error = %v, want a wrong type with %q", body, err, want)
		}
		if strings.ContainsAny(want, "[]*.") {
			t.Errorf("message %q contains Go syntax", want)
		}
	}
}
