package main

import (
	"strconv"
	"strings"
)

const anyJSON = "lab.type.v1.RawJSON"

// finish changes the generated 2.0 document to describe what the REST codec reads and writes.
func finish(doc object, all []overlay, version string) {
	numbersAsNumbers(doc)
	definitions := child(doc, "definitions")
	// RawJSON is any value. The generator would describe the message that carries it.
	definitions[anyJSON] = object{"description": "Any JSON value."}
	describe(doc, version)
	paths := child(doc, "paths")
	for _, o := range all {
		merge(paths, o.Paths)
		merge(definitions, o.Definitions)
	}
	nameAreas(doc, all)
	keepDescriptionsOfReferences(doc)
}

// child returns the object at key. If there is none, it adds an empty one.
func child(parent object, key string) object {
	if existing, ok := parent[key].(object); ok {
		return existing
	}
	made := object{}
	parent[key] = made
	return made
}

// numbersAsNumbers makes 64-bit integers of type string integers, and converts the enumerations of integers, which the
// annotations can only write as text.
func numbersAsNumbers(node any) {
	switch n := node.(type) {
	case object:
		if f := n["format"]; n["type"] == "string" && (f == "int64" || f == "uint64") {
			n["type"] = "integer"
		}
		if values, ok := n["enum"].([]any); ok && n["type"] == "integer" {
			integers(values)
		}
		for _, below := range n {
			numbersAsNumbers(below)
		}
	case []any:
		for _, below := range n {
			numbersAsNumbers(below)
		}
	}
}

func integers(values []any) {
	for i, v := range values {
		if text, ok := v.(string); ok {
			if number, err := strconv.Atoi(text); err == nil {
				values[i] = number
			}
		}
	}
}

func describe(doc object, version string) {
	doc["info"] = object{
		"title":   "Laboratory platform",
		"version": version,
		"description": "Search, external editing, sample rerun, task queue, cell counter, critical callout, bill split and notifications. " +
			"Every path answers with and without a trailing slash. Bodies of at most 1 MiB.",
	}
	doc["securityDefinitions"] = object{
		"session": object{"type": "apiKey", "in": "header", "name": "Cookie", "description": "sessionid=<session id>"},
		"bearer":  object{"type": "apiKey", "in": "header", "name": "Authorization", "description": "Bearer <JWT>"},
	}
	doc["security"] = []any{object{"session": []any{}}, object{"bearer": []any{}}}
}

// nameAreas replaces the names of gRPC services in tags by the titles of the areas, which REST clients know.
func nameAreas(doc object, all []overlay) {
	titles := map[any]any{}
	var tags []any
	for _, o := range all {
		if o.Title == "" {
			continue
		}
		titles[o.Service] = o.Title
		tags = append(tags, object{"name": o.Title, "description": o.Description})
	}
	doc["tags"] = tags
	for _, op := range operations(doc) {
		tags, _ := op.body["tags"].([]any)
		for i, tag := range tags {
			if title, ok := titles[tag]; ok {
				tags[i] = title
			}
		}
	}
}

// keepDescriptionsOfReferences moves each $ref that has siblings into an allOf, because readers ignore the siblings of
// a $ref.
func keepDescriptionsOfReferences(node any) {
	switch n := node.(type) {
	case object:
		if ref, ok := n["$ref"].(string); ok && strings.HasPrefix(ref, "#/") {
			delete(n, "type")
			if len(n) > 1 {
				delete(n, "$ref")
				n["allOf"] = []any{object{"$ref": ref}}
			}
		}
		for _, below := range n {
			keepDescriptionsOfReferences(below)
		}
	case []any:
		for _, below := range n {
			keepDescriptionsOfReferences(below)
		}
	}
}

// operation is one method of one path.
type operation struct {
	path, method string
	body         object
}

// id returns the operation id: service and RPC as the generator joins them, with a number at the end for additional
// bindings.
func (o operation) id() string {
	id, _ := o.body["operationId"].(string)
	return id
}

// rpc returns the id without that number.
func (o operation) rpc() string { return strings.TrimRight(o.id(), "0123456789") }

// describe adds a paragraph at the beginning of the description.
func (o operation) describe(paragraph string) {
	if whole := strings.TrimSpace(paragraph + "\n\n" + text(o.body["description"])); whole != "" {
		o.body["description"] = whole
	}
}

func (o operation) writes() bool { return o.method != "get" }

// operations returns all operations of a document, in no particular order.
func operations(doc object) []operation {
	var list []operation
	for path, item := range child(doc, "paths") {
		methods, _ := item.(object)
		for method, body := range methods {
			if o, ok := body.(object); ok && method != "parameters" {
				list = append(list, operation{path, method, o})
			}
		}
	}
	return list
}
