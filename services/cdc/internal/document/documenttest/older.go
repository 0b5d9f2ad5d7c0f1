package documenttest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
)

// older is the index definition of document.OldSchema.
//
//go:embed older.json
var older []byte

// OlderIndex returns the request body that creates an index of document.OldSchema with five shards. aliases has the
// meaning it has in document.Index.
func OlderIndex(refresh time.Duration, aliases map[string]bool) []byte {
	var body struct {
		Settings map[string]map[string]any `json:"settings"`
		Mappings json.RawMessage           `json:"mappings"`
		Aliases  map[string]map[string]any `json:"aliases"`
	}
	if err := json.Unmarshal(older, &body); err != nil {
		panic(fmt.Errorf("the index of schema %d: %w", document.OldSchema, err))
	}
	settings := body.Settings["index"]
	settings["number_of_replicas"], settings["refresh_interval"] = 0, fmt.Sprintf("%dms", refresh.Milliseconds())
	body.Aliases = map[string]map[string]any{}
	for alias, write := range aliases {
		body.Aliases[alias] = map[string]any{"is_write_index": write}
	}
	text, _ := json.Marshal(body) // maps and strings can always be encoded
	return text
}
