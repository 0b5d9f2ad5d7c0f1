// Command openapi finishes the generated OpenAPI document so that it tells what the wire really carries.
//
// The generator follows proto-JSON and describes 64-bit integers as strings; our REST codec sends numbers.
// It also cannot know the one path that is not an RPC binding: the multipart upload.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

const usage = "usage: openapi FILE\n\nRewrites the generated OpenAPI document FILE in place."

func main() {
	if len(os.Args) != 2 || os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func rewrite(path string) error {
	in, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(in, &doc); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	numbersAsNumbers(doc)
	describe(doc)
	addUpload(doc)
	nameAreas(doc)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// numbersAsNumbers turns every {"type":"string","format":"int64"} into an integer.
func numbersAsNumbers(node any) {
	switch n := node.(type) {
	case map[string]any:
		if f := n["format"]; n["type"] == "string" && (f == "int64" || f == "uint64") {
			n["type"] = "integer"
		}
		for _, child := range n {
			numbersAsNumbers(child)
		}
	case []any:
		for _, child := range n {
			numbersAsNumbers(child)
		}
	}
}

func describe(doc map[string]any) {
	doc["info"] = map[string]any{
		"title":       "Laboratory platform",
		"version":     "v1",
		"description": "Search, external editing, sample rerun, task queue, cell counter, critical callout, bill split and notifications. Every path answers with and without a trailing slash.",
	}
	doc["securityDefinitions"] = map[string]any{
		"session": map[string]any{"type": "apiKey", "in": "header", "name": "Cookie", "description": "sessionid=<session id>"},
		"bearer":  map[string]any{"type": "apiKey", "in": "header", "name": "Authorization", "description": "Bearer <JWT>"},
	}
	doc["security"] = []any{map[string]any{"session": []any{}}, map[string]any{"bearer": []any{}}}
}

// areas are the tags in the order of the interface document; a service without REST paths has none.
var areas = []struct{ service, title, description string }{
	{"SearchService", "A. User search", "Patients by name, phone or any identifier."},
	{"ExternalEditService", "B. External edit", "Reports edited as Word documents in a desktop client."},
	{"RerunService", "C. Sample rerun", "Testing a sample again, with the original kept until the confirmation."},
	{"TaskQueueService", "D. Task queue", "SMS, email, push, webhooks and WhatsApp in the background."},
	{"CellCounterService", "E. Cell counter mappings", "Which key counts which cell into which parameter."},
	{"CalloutService", "F. Critical callout", "Telling somebody about a critical result, and proving it."},
	{"BillSplitService", "G. Bill split", "Moving billed tests to a new bill."},
	{"NotificationsService", "H. Notifications", "The inbox, preferences and push topics of a user."},
}

// nameAreas replaces the services' names, which mean nothing to a REST client, by the areas'.
func nameAreas(doc map[string]any) {
	titles := map[any]any{}
	var tags []any
	for _, a := range areas {
		titles[a.service] = a.title
		tags = append(tags, map[string]any{"name": a.title, "description": a.description})
	}
	doc["tags"] = tags
	paths, _ := doc["paths"].(map[string]any)
	for _, path := range paths {
		operations, _ := path.(map[string]any)
		for _, operation := range operations {
			if o, ok := operation.(map[string]any); ok {
				renameTags(o, titles)
			}
		}
	}
}

func renameTags(operation map[string]any, titles map[any]any) {
	tags, _ := operation["tags"].([]any)
	for i, tag := range tags {
		if title, ok := titles[tag]; ok {
			tags[i] = title
		}
	}
}

// refusal is a response with an error's body.
func refusal(description string, code int, message string) map[string]any {
	return map[string]any{
		"description": description,
		"examples":    map[string]any{"application/json": map[string]any{"code": code, "message": message, "details": ""}},
	}
}

func addUpload(doc map[string]any) {
	paths, ok := doc["paths"].(map[string]any)
	if !ok {
		return
	}
	param := func(in, name, typ string, extra map[string]any) map[string]any {
		p := map[string]any{"in": in, "name": name, "type": typ, "required": true}
		for k, v := range extra {
			p[k] = v
		}
		return p
	}
	paths["/api-v3/report/external-edit/agent/{edit_id}"] = map[string]any{"post": map[string]any{
		"summary":     "Stores a Word and PDF pair of a session.",
		"operationId": "ExternalEditService_UploadFiles",
		"tags":        []any{"ExternalEditService"},
		"consumes":    []any{"multipart/form-data"},
		"parameters": []any{
			param("path", "edit_id", "integer", map[string]any{"format": "int64"}),
			param("formData", "word_file", "file", map[string]any{"description": ".docx, at most 50 MB"}),
			param("formData", "pdf_file", "file", map[string]any{"description": ".pdf, at most 100 MB"}),
		},
		"responses": map[string]any{
			"200": map[string]any{
				"description": "Both files are linked to the report.",
				"schema":      map[string]any{"$ref": "#/definitions/lab.externaledit.v1.UploadFilesResponse"},
			},
			"400": refusal("A file is missing or not in order; nothing was stored.", 400, "word_file: the Word document contains macros; save it as .docx without them"),
			"401": refusal("No session token, or one that is not valid.", 401, "The session token is not valid or has expired. Ask for the session again to get a new one."),
			"403": refusal("The token of another session, or a session that has ended.", 403, "The session is not active any more"),
			"409": refusal("The report was signed meanwhile.", 409, "The report was signed meanwhile; this save is not linked. Keep the document and remove the signature to save it"),
			"429": refusal("More than five uploads in a minute; see Retry-After.", 429, "Too many uploads were made to this session; at most 5 a minute are allowed. Try again in 12 seconds."),
		},
	}}
	paths["/api-v3/report/external-edit/{lab_report_id}/events"] = map[string]any{"get": map[string]any{
		"summary":     "Streams the events of a report's session as server-sent events; Last-Event-ID replays what came after it.",
		"operationId": "ExternalEditService_WatchEvents",
		"tags":        []any{"ExternalEditService"},
		"produces":    []any{"text/event-stream"},
		"parameters":  []any{param("path", "lab_report_id", "integer", map[string]any{"format": "int64"})},
		"responses":   map[string]any{"200": map[string]any{"description": "session_created, files_uploaded, session_ended, authorship_changed"}},
	}}
	definitions, ok := doc["definitions"].(map[string]any)
	if !ok {
		return
	}
	text := map[string]any{"type": "string"}
	definitions["lab.externaledit.v1.UploadFilesResponse"] = map[string]any{
		"type":       "object",
		"properties": map[string]any{"message": text, "word_s3_path": text, "pdf_s3_path": text},
	}
}
