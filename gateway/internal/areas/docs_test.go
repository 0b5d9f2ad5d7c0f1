package areas_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/proto/openapi"
)

// document is the part of the API document that the tests read.
type document struct {
	OpenAPI string                                 `json:"openapi"`
	Paths   map[string]map[string]documentedMethod `json:"paths"`

	Components struct {
		Schemas   map[string]documentedSchema   `json:"schemas"`
		Responses map[string]documentedResponse `json:"responses"`
	} `json:"components"`
}

type documentedMethod struct {
	OperationID string                        `json:"operationId"`
	Responses   map[string]documentedResponse `json:"responses"`
}

type documentedResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema struct {
			Ref string `json:"$ref"`
		} `json:"schema"`
	} `json:"content"`
}

type documentedSchema struct {
	Required   []string       `json:"required"`
	Properties map[string]any `json:"properties"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(openapi.Document, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	shapes := map[string]bool{}
	for path, methods := range d.Paths {
		for method := range methods {
			shapes[strings.ToUpper(method)+" "+nameless(path)] = true
		}
	}
	routes := edge.Routes(areas.List())
	for _, r := range routes {
		if !shapes[r.Method+" "+nameless(r.Path)] {
			t.Errorf("%s %s is not documented: run make generate", r.Method, r.Path)
		}
	}
	if len(shapes) != len(routes) {
		t.Errorf("documented operations = %d, routes = %d, want the same", len(shapes), len(routes))
	}
}

// nameless returns a path without the names of its parameters.
func nameless(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "{}"
		}
	}
	return strings.Join(parts, "/")
}

// The test checks that every documented error of every operation has the body that the gateway writes for its area.
func TestDocumentedErrorsHaveTheBodyOfTheirArea(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	compared := 0
	for _, r := range edge.Routes(areas.List()) {
		for path, methods := range d.Paths {
			if nameless(path) != nameless(r.Path) {
				continue
			}
			method := methods[strings.ToLower(r.Method)]
			for kind := apperr.Internal; kind < apperr.Canceled; kind++ {
				response, ok := method.Responses[fmt.Sprint(httpserver.Status(kind))]
				if !ok {
					continue
				}
				compared++
				d.compare(t, r, response, apperr.New(kind, "REASON", "a message"))
			}
			if _, ok := method.Responses["500"]; !ok {
				t.Errorf("%s %s: status 500 is not documented", r.Method, r.Path)
			}
		}
	}
	if compared < 300 {
		t.Errorf("errors compared = %d, want at least 300", compared)
	}
}

func (d document) compare(t *testing.T, r edge.Route, response documentedResponse, e *apperr.Error) {
	t.Helper()
	if name, ok := strings.CutPrefix(response.Ref, "#/components/responses/"); ok {
		response = d.Components.Responses[name]
	}
	schema := d.Components.Schemas[strings.TrimPrefix(response.Content["application/json"].Schema.Ref, "#/components/schemas/")]
	if len(schema.Required) == 0 {
		t.Errorf("%s %s: the documented error has no schema", r.Method, r.Path)
		return
	}
	recorder := httptest.NewRecorder()
	httpserver.WriteError(recorder, shapeOf(r.Path), e)
	var body map[string]any
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	for _, name := range schema.Required {
		if _, ok := body[name]; !ok {
			t.Errorf("%s %s: body lacks %s, which is documented as required: %s", r.Method, r.Path, name, recorder.Body)
		}
	}
	for name := range body {
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("%s %s: body has %s, which is not documented", r.Method, r.Path, name)
		}
	}
}

// shapeOf returns the error body of the area with the longest matching prefix.
func shapeOf(path string) httpserver.Shape {
	shape, length := httpserver.Envelope, 0
	for _, area := range areas.List() {
		for _, prefix := range area.Prefixes {
			if strings.HasPrefix(path, prefix) && len(prefix) > length {
				shape, length = area.Shape, len(prefix)
			}
		}
	}
	return shape
}

func TestDocumentIsServedAndKept(t *testing.T) {
	t.Parallel()
	public := newEdge(t, nil).Public()
	code, body, plain := send(t, public, request{method: "GET", path: "/openapi.json"})
	if code != 200 || !strings.Contains(body, `"openapi": "3.0.`) {
		t.Errorf("response = %d, %.80s, want 200 with the document", code, body)
	}
	packs := map[string]string{"Accept-Encoding": "br, gzip"}
	code, packed, header := send(t, public, request{method: "GET", path: "/openapi.json", header: packs})
	if code != 200 || header.Get("Content-Encoding") != "gzip" || header.Get("Vary") == "" || len(packed) > len(body)/5 {
		t.Errorf("compressed: response = %d, %d of %d bytes, %v, want gzip of a fifth", code, len(packed), len(body), header)
	}
	if header.Get("ETag") == plain.Get("ETag") {
		t.Errorf("both forms have the ETag %s, want two", header.Get("ETag"))
	}
	for name, headers := range map[string]map[string]string{
		"as it is":   {"If-None-Match": plain.Get("ETag")},
		"compressed": {"If-None-Match": header.Get("ETag"), "Accept-Encoding": "gzip"},
	} {
		if code, body, _ := send(t, public, request{method: "GET", path: "/openapi.json", header: headers}); code != 304 || body != "" {
			t.Errorf("%s, with the ETag: response = %d with %d bytes, want 304 without a body", name, code, len(body))
		}
	}
	if code, _, _ := send(t, public, request{method: "GET", path: "/openapi.json", header: map[string]string{"If-None-Match": `"older"`}}); code != 200 {
		t.Errorf("with the ETag of an older document: response = %d, want 200", code)
	}
}
