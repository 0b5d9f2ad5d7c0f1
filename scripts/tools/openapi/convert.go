package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
)

// convert returns the OpenAPI 3.0 form of a 2.0 document.
func convert(doc object) (object, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var v2 openapi2.T
	if err := json.Unmarshal(text, &v2); err != nil {
		return nil, fmt.Errorf("read the 2.0 document: %w", err)
	}
	v3, err := openapi2conv.ToV3(&v2)
	if err != nil {
		return nil, fmt.Errorf("convert to 3.0: %w", err)
	}
	text, err = json.Marshal(v3)
	if err != nil {
		return nil, err
	}
	var out object
	return out, json.Unmarshal(text, &out)
}

// validate returns an error for a document that is not valid OpenAPI 3.0.
func validate(doc object) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	v3, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return fmt.Errorf("the completed document: %w", err)
	}
	if err := v3.Validate(context.Background()); err != nil {
		return fmt.Errorf("the completed document: %w", err)
	}
	return nil
}

var parameter = regexp.MustCompile(`\{[^}]+\}`)

// joinTwinPaths joins paths that differ only in the names of their parameters, which OpenAPI treats as equal. The
// parameter is then called id, and the description in each method tells which id it is.
func joinTwinPaths(doc object) {
	paths := child(doc, "paths")
	twins := map[string][]string{}
	for path := range paths {
		shape := parameter.ReplaceAllString(path, "{}")
		twins[shape] = append(twins[shape], path)
	}
	for _, names := range twins {
		if len(names) == 1 {
			continue
		}
		slices.Sort(names)
		joined := object{}
		for _, name := range names {
			for method, body := range child(paths, name) {
				joined[method] = body
				renameParameter(body, parameter.FindString(name))
			}
			delete(paths, name)
		}
		paths[parameter.ReplaceAllString(names[0], "{id}")] = joined
	}
}

func renameParameter(operation any, braced string) {
	body, _ := operation.(object)
	list, _ := body["parameters"].([]any)
	for _, entry := range list {
		p, _ := entry.(object)
		if name := strings.Trim(braced, "{}"); p["in"] == "path" && p["name"] == name {
			p["name"] = "id"
			p["description"] = strings.TrimSpace(fmt.Sprint("The ", name, ". ", text(p["description"])))
		}
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
