package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merge changes into as RFC 7396 says: objects are merged, null deletes a key, every other value replaces.
func merge(into, from object) {
	for key, value := range from {
		below, isObject := value.(object)
		switch {
		case value == nil:
			delete(into, key)
		case isObject:
			merge(child(into, key), below)
		default:
			into[key] = value
		}
	}
}

// complete applies the overlays to the 3.0 document. An overlay entry without an operation is an error, because it
// would have no effect.
func complete(doc object, all []overlay, callers map[string]string) error {
	var edge edgeOverlay
	components := child(doc, "components")
	for _, o := range all {
		if o.Service == "" {
			edge = o.Edge
		}
		if err := o.completeSchemas(child(components, "schemas")); err != nil {
			return err
		}
	}
	merge(doc, edge.Document)
	used := map[string]bool{}
	for _, op := range operations(doc) {
		o, name, err := overlayOf(all, op)
		if err != nil {
			return err
		}
		used[o.Service+"_"+name] = true
		if access := o.Operations[name].Access; access == "" || access == "internal" { // others need no login
			op.describe(callers[op.rpc()])
		}
		if err := o.apply(op, o.Operations[name], edge, child(components, "responses")); err != nil {
			return err
		}
	}
	deprecateAliases(doc)
	for _, o := range all {
		for name := range o.Operations {
			if !used[o.Service+"_"+name] {
				return fmt.Errorf("%s: there is no operation %s", o.packageName, name)
			}
		}
	}
	return nil
}

func (o overlay) completeSchemas(schemas object) error {
	for name, entry := range o.Schemas {
		patch, ok := entry.(object)
		if !ok {
			return fmt.Errorf("%s: schema %s is no object", o.packageName, name)
		}
		full := o.packageName + "." + name
		if schema, ok := schemas[full].(object); ok {
			if err := replaceReferences(schema, patch); err != nil {
				return fmt.Errorf("%s: %w", full, err)
			}
		}
		merge(child(schemas, full), patch)
	}
	return nil
}

// replaceReferences removes the reference of each property for which the overlay gives a type of its own.
func replaceReferences(schema, patch object) error {
	patches, _ := patch["properties"].(object)
	properties, _ := schema["properties"].(object)
	for name, patch := range patches {
		property, ok := properties[name].(object)
		if !ok {
			return fmt.Errorf("the contract has no field %s", name)
		}
		if shape, _ := patch.(object); shape["type"] != nil || shape["oneOf"] != nil {
			delete(property, "$ref")
			delete(property, "allOf")
		}
	}
	return nil
}

// overlayOf returns the overlay of an operation and the name of its RPC.
func overlayOf(all []overlay, op operation) (overlay, string, error) {
	for _, o := range all {
		if !strings.HasPrefix(op.id(), o.Service+"_") || o.Service == "" {
			continue
		}
		return o, strings.TrimPrefix(op.rpc(), o.Service+"_"), nil
	}
	return overlay{}, "", fmt.Errorf("no overlay names the service of %s", op.id())
}

// deprecateAliases marks all paths of an RPC but the first as deprecated. Their descriptions name the first one.
func deprecateAliases(doc object) {
	preferred := map[string]string{}
	for _, op := range operations(doc) {
		if op.id() == op.rpc() {
			preferred[op.id()] = op.path
		}
	}
	for _, op := range operations(doc) {
		if op.id() != op.rpc() {
			op.body["deprecated"] = true
			op.describe("Another path of `" + preferred[op.rpc()] + "`, which is preferred.")
		}
	}
}

func (o overlay) apply(op operation, extra operationOverlay, edge edgeOverlay, responses object) error {
	access, ok := edge.Access[extra.Access]
	if extra.Access != "" && !ok {
		return fmt.Errorf("%s: access %q is not known", op.id(), extra.Access)
	}
	if extra.Access != "" {
		op.body["security"] = access.Security
		op.describe(access.Description)
	}
	list, _ := op.body["parameters"].([]any)
	list = slices.DeleteFunc(list, func(p any) bool {
		parameter, _ := p.(object)
		return slices.Contains(extra.Without, text(parameter["name"]))
	})
	for _, name := range extra.Headers {
		list = append(list, object{"$ref": "#/components/parameters/" + name})
	}
	if len(list) > 0 {
		op.body["parameters"] = list
	}
	answers := child(op.body, "responses")
	for status, when := range o.refusals(op, extra, edge) {
		switch _, own := extra.Refusals[status]; {
		case own && when == "": // a status of the area that this operation does not have
		case own:
			answers[fmt.Sprint(status)] = o.refusal(status, when)
		default:
			answers[fmt.Sprint(status)] = o.shared(responses, status, when)
		}
	}
	merge(op.body, extra.Merge)
	if extra.Example != nil {
		jsonContent(child(op.body, "requestBody"))["example"] = extra.Example
	}
	if extra.Answer != nil {
		jsonContent(child(answers, "200"))["example"] = extra.Answer
	}
	return nil
}

func jsonContent(body object) object { return child(child(body, "content"), "application/json") }

// refusals returns the error statuses of an operation with their descriptions. A description of the operation overrides
// one of the area, which overrides one of the edge.
func (o overlay) refusals(op operation, extra operationOverlay, edge edgeOverlay) map[int]string {
	all := maps.Clone(edge.Every)
	if extra.Access == "anonymous" {
		delete(all, 401)
	}
	if parameters, _ := op.body["parameters"].([]any); len(parameters) > 0 {
		maps.Copy(all, edge.Parameters)
	}
	if op.writes() {
		maps.Copy(all, edge.Writes)
	}
	if op.body["requestBody"] != nil {
		maps.Copy(all, edge.Bodies)
	}
	if op.isKeyed() {
		maps.Copy(all, edge.Keyed)
	}
	maps.Copy(all, o.Refusals)
	maps.Copy(all, extra.Refusals)
	return all
}

// shared returns a reference to the response that the operations of an area share, and adds it to responses if it is
// missing.
func (o overlay) shared(responses object, status int, when string) object {
	name := fmt.Sprintf("%s.%d", o.packageName, status)
	if responses[name] == nil {
		responses[name] = o.refusal(status, when)
	}
	return object{"$ref": "#/components/responses/" + name}
}

// refusal returns a response with the area's error body.
func (o overlay) refusal(status int, when string) object {
	example := maps.Clone(o.ErrorExample)
	if _, ok := example["code"]; ok {
		example["code"] = status
	}
	example["message"] = when
	answer := object{"description": when, "content": object{"application/json": object{
		"schema": object{"$ref": "#/components/schemas/" + o.Error}, "example": example,
	}}}
	if status == 429 || status == 503 {
		answer["headers"] = headerReferences("Retry-After")
	}
	if status == 429 {
		maps.Copy(child(answer, "headers"), headerReferences("RateLimit", "RateLimit-Policy"))
	}
	return answer
}

func headerReferences(names ...string) object {
	headers := object{}
	for _, name := range names {
		headers[name] = object{"$ref": "#/components/headers/" + name}
	}
	return headers
}

// maxInteger is the greatest integer that every JSON parser reads exactly. The REST codec rejects greater ones.
const maxInteger = 1 << 53

// tidy sorts the lists of required fields, so that the document does not depend on the order of iteration. It lets
// objects without listed fields have any, because generators take them for empty otherwise, and limits 64-bit integers
// to maxInteger.
func tidy(node any) {
	switch n := node.(type) {
	case object:
		if list, ok := n["required"].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		if n["type"] == "object" && n["properties"] == nil && n["additionalProperties"] == nil {
			n["additionalProperties"] = true
		}
		if n["format"] == "int64" {
			n["minimum"], n["maximum"] = cmp.Or(n["minimum"], any(-maxInteger)), cmp.Or(n["maximum"], any(maxInteger))
		}
		for _, below := range n {
			tidy(below)
		}
	case []any:
		for _, below := range n {
			tidy(below)
		}
	}
}
