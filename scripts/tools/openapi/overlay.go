package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// overlay holds the parts of an area's REST API that its contract cannot express. It is read from one file next to the
// contract. Its values are OpenAPI and are merged into the document by RFC 7396, where null deletes.
type overlay struct {
	// Title and Description are the tag of the area in the document.
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	// Service is the name of the gRPC service, with which operation ids begin.
	Service string `yaml:"service"`
	// Error is the schema of error bodies. ErrorExample is an example, whose message and code are replaced for each
	// status.
	Error        string `yaml:"error"`
	ErrorExample object `yaml:"error_example"`
	// Refusals are descriptions of the error statuses that every operation of the area has.
	Refusals map[int]string `yaml:"refusals"`
	// Paths and Definitions are added to the 2.0 document. They describe paths without an RPC.
	Paths       object `yaml:"paths"`
	Definitions object `yaml:"definitions"`
	// Operations has the RPC names as keys.
	Operations map[string]operationOverlay `yaml:"operations"`
	// Schemas are merged into the 3.0 document. Their names are relative to the area's package.
	Schemas object `yaml:"schemas"`
	// Edge is set only in the file that applies to all areas.
	Edge edgeOverlay `yaml:"edge"`

	packageName string
}

// operationOverlay completes the operations of one RPC.
type operationOverlay struct {
	// Refusals are descriptions of the operation's own error statuses. "" removes a status of the area.
	Refusals map[int]string `yaml:"refusals"`
	// Access is a key of edgeOverlay.Access; "" means sessions and tokens of users.
	Access string `yaml:"access"`
	// Headers are names in components.parameters.
	Headers []string `yaml:"headers"`
	// Without are names of parameters to remove from the document.
	Without []string `yaml:"without"`
	// Merge is merged into the operation.
	Merge object `yaml:"merge"`
	// Example is an example of the JSON request body, Answer one of the response with status 200.
	Example any `yaml:"example"`
	Answer  any `yaml:"answer"`
}

// edgeOverlay describes the responses of the gateway that every area has.
type edgeOverlay struct {
	Every      map[int]string `yaml:"every"`
	Parameters map[int]string `yaml:"parameters"`
	Bodies     map[int]string `yaml:"bodies"`
	Writes     map[int]string `yaml:"writes"`
	Keyed      map[int]string `yaml:"keyed"`
	Document   object         `yaml:"document"`
	Access     map[string]struct {
		Security    []any  `yaml:"security"`
		Description string `yaml:"description"`
	} `yaml:"access"`
}

// readOverlays returns the overlays sorted by title. The overlay of all areas has no title and comes first.
func readOverlays(root string) ([]overlay, error) {
	byTitle := map[string]overlay{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".openapi.yaml") {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		var o overlay
		decoder := yaml.NewDecoder(in)
		decoder.KnownFields(true)
		if err := decoder.Decode(&o); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		o.packageName = "lab." + strings.ReplaceAll(filepath.ToSlash(folder), "/", ".")
		byTitle[o.Title] = o
		return err
	})
	var all []overlay
	for _, title := range slices.Sorted(maps.Keys(byTitle)) {
		all = append(all, byTitle[title])
	}
	return all, err
}
