package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

func readDocument(t *testing.T) object {
	t.Helper()
	in, err := os.ReadFile("../../../proto/openapi/lab.openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(in, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// visit calls f with every object of a document and its path.
func visit(node any, place string, f func(place string, o object)) {
	switch n := node.(type) {
	case object:
		f(place, n)
		for key, below := range n {
			visit(below, place+"/"+key, f)
		}
	case []any:
		for _, below := range n {
			visit(below, place, f)
		}
	}
}

// The document must have none of these forms, for which client generators silently drop an operation or its files.
func TestTheDocumentHasNothingThatGeneratorsDrop(t *testing.T) {
	doc := readDocument(t)
	schemas := child(child(doc, "components"), "schemas")
	visit(doc, "", func(place string, o object) {
		parts, _ := o["allOf"].([]any)
		for _, part := range parts {
			ref, _ := part.(object)["$ref"].(string)
			if target, ok := schemas[strings.TrimPrefix(ref, schemaPrefix)].(object); ok && target["oneOf"] != nil {
				t.Errorf("%s: allOf over the union %s, want a oneOf of complete schemas", place, ref)
			}
		}
		if content, ok := o["content"].(object); ok {
			for kind := range content {
				if len(child(child(content, kind), "schema")) == 0 {
					t.Errorf("%s: the body as %s has no schema", place, kind)
				}
			}
		}
		if pattern, ok := o["pattern"].(string); ok && strings.HasPrefix(pattern, "^20") {
			for _, day := range []string{"2027-05-01", "2027-05-29", "2027-05-31"} {
				of := regexp.MustCompile(pattern)
				if !of.MatchString(day+"T10:00:00") && !of.MatchString(day+"T10:00:00Z") {
					t.Errorf("%s: %s does not match %s", place, day, pattern)
				}
			}
		}
	})
}

func TestEveryOperationIsDescribedAndAliasesAreDeprecated(t *testing.T) {
	for _, op := range operations(readDocument(t)) {
		if text(op.body["description"]) == "" || text(op.body["summary"]) == "" {
			t.Errorf("%s %s has no description or no summary", op.method, op.path)
		}
		if isAlias := op.id() != op.rpc(); (op.body["deprecated"] == true) != isAlias {
			t.Errorf("%s %s: deprecated = %v, want it of further paths of an RPC only", op.method, op.path, op.body["deprecated"])
		}
	}
}

// No operation may have both: generators for Go and Java convert idempotency_key and Idempotency-Key to the same name.
func TestNoOperationHasTwoParametersOfOneName(t *testing.T) {
	doc := readDocument(t)
	shared := child(child(doc, "components"), "parameters")
	plain := strings.NewReplacer("_", "", "-", "")
	for _, op := range operations(doc) {
		seen := map[string]bool{}
		list, _ := op.body["parameters"].([]any)
		for _, entry := range list {
			p, _ := entry.(object)
			if name, ok := strings.CutPrefix(text(p["$ref"]), "#/components/parameters/"); ok {
				p = child(shared, name)
			}
			name := strings.ToLower(plain.Replace(text(p["name"])))
			if seen[name] {
				t.Errorf("%s %s: %s is the second parameter of this name", op.method, op.path, text(p["name"]))
			}
			seen[name] = true
		}
	}
}

func TestADocumentSaysWhoMayCall(t *testing.T) {
	for _, op := range operations(readDocument(t)) {
		description := text(op.body["description"])
		switch op.id() {
		case "TaskQueueService_Enqueue":
			if !strings.Contains(description, "logins of people, tokens of instruments, the service `callout`") {
				t.Errorf("description = %q, want the callers of the contract", description)
			}
		case "ExternalEditService_UploadFiles":
			if strings.Contains(description, "Callers") {
				t.Errorf("description = %q, want no callers: only the session's token is accepted", description)
			}
		}
	}
}
