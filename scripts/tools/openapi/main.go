// Command openapi writes the API documents. It corrects the OpenAPI 2.0 document of the generator, converts it to
// OpenAPI 3.0, and completes that with facts from the contracts' descriptors and the areas' overlays (overlay.go).
//
// The overlays are needed because the generator follows proto-JSON, and version 2.0 has no null, union or cookie.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

const usage = `usage: openapi SWAGGER IMAGE OVERLAYS VERSION DOCUMENT

Rewrites the generated OpenAPI 2.0 document SWAGGER in place and writes the OpenAPI 3.0 document DOCUMENT.
IMAGE is the contracts' descriptor set, OVERLAYS the folder that holds the areas' *.openapi.yaml files, VERSION the
file that holds the version of the platform.`

type object = map[string]any

func main() {
	if len(os.Args) != 6 || os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(swagger, image, overlays, version, document string) error {
	all, err := readOverlays(overlays)
	if err != nil {
		return err
	}
	contracts, err := readContracts(image)
	if err != nil {
		return err
	}
	doc, err := readJSON(swagger)
	if err != nil {
		return err
	}
	number, err := os.ReadFile(version)
	if err != nil {
		return err
	}
	finish(doc, all, strings.TrimSpace(string(number)))
	if err := writeJSON(swagger, doc); err != nil {
		return err
	}
	doc, err = convert(doc)
	if err != nil {
		return err
	}
	contracts.completeLimits(doc)
	joinTwinPaths(doc)
	contracts.completeSchemas(doc)
	contracts.completeKeys(doc)
	if err := complete(doc, all, contracts.callers); err != nil {
		return err
	}
	if err := rejectUnused(doc, all); err != nil {
		return err
	}
	tidy(doc)
	if err := validate(doc); err != nil {
		return err
	}
	return writeJSON(document, doc)
}

func readJSON(path string) (object, error) {
	in, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc object
	if err := json.Unmarshal(in, &doc); err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	return doc, nil
}

func writeJSON(path string, doc object) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
