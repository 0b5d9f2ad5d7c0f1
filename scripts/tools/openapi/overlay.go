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

// overlay is what the REST form of an area has and its contract cannot say, one file beside the contract. Values are
// OpenAPI; they are merged into the document as RFC 7396 merges: null deletes.
type overlay struct {
	// Title and Description name the area to REST clients.
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	// Service is the contract's service, which operation ids begin with.
	Service string `yaml:"service"`
	// Error is the schema of every error's body. In ErrorExample the message and the code are filled in for each status.
	Error        string `yaml:"error"`
	ErrorExample object `yaml:"error_example"`
	// Refusals are the error statuses that every operation of the area has.
	Refusals map[int]string `yaml:"refusals"`
	// Paths and Definitions are added to the 2.0 document: what is no RPC binding.
	Paths       object `yaml:"paths"`
	Definitions object `yaml:"definitions"`
	// Operations are by the RPC's name.
	Operations map[string]operationOverlay `yaml:"operations"`
	// Schemas are merged into the 3.0 document, by names in the area's package.
	Schemas object `yaml:"schemas"`
	// Edge is only in the file of all areas.
	Edge edgeOverlay `yaml:"edge"`

	packageName string
}

// operationOverlay completes one RPC's operations.
type operationOverlay struct {
	// Refusals are the error statuses of its own, or nothing for one of the area's that it has not.
	Refusals map[int]string `yaml:"refusals"`
	// Access is one of the edge's; empty: sessions and tokens of users.
	Access string `yaml:"access"`
	// Headers are names of components.parameters.
	Headers []string `yaml:"headers"`
	// Without are parameters that REST clients need not know.
	Without []string `yaml:"without"`
	// Merge goes into the operation as it is.
	Merge object `yaml:"merge"`
	// Example is of the JSON body; Answer of the body of 200.
	Example any `yaml:"example"`
	Answer  any `yaml:"answer"`
}

// edgeOverlay tells what the edge answers for every area.
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

// readOverlays returns the overlays in the order of the areas, after the one of all areas, which has no title.
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
