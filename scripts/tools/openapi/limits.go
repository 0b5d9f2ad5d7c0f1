package main

import (
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// completeLimits copies the limits of a field to its parameter, and to a list that is the whole body. The generator
// writes them in messages only.
func (c *contracts) completeLimits(doc object) {
	for _, op := range operations(doc) {
		input := c.inputs[strings.TrimRight(op.id(), "0123456789")]
		if input == nil {
			continue
		}
		parameters, _ := op.body["parameters"].([]any)
		for _, entry := range parameters {
			p, _ := entry.(object)
			if schema, ok := p["schema"].(object); ok {
				limit(schema, input.Fields().ByTextName(text(p["name"])))
			}
		}
		if body, ok := op.body["requestBody"].(object); ok {
			if schema := jsonSchema(body); schema["type"] == "array" {
				limit(schema, input.Fields().ByTextName(text(body["x-originalParamName"])))
			}
			delete(body, "x-originalParamName")
		}
	}
}

// jsonSchema returns the schema of a JSON body, or nil for another content type.
func jsonSchema(body object) object {
	content, _ := body["content"].(object)
	media, _ := content["application/json"].(object)
	schema, _ := media["schema"].(object)
	return schema
}

func limit(schema object, field protoreflect.FieldDescriptor) {
	if field == nil {
		return
	}
	limits, ok := proto.GetExtension(field.Options(), options.E_Openapiv2Field).(*options.JSONSchema)
	if !ok || limits == nil {
		return
	}
	if limits.GetMinimum() != 0 {
		schema["minimum"] = limits.GetMinimum()
	}
	if limits.GetMaximum() != 0 {
		schema["maximum"] = limits.GetMaximum()
	}
	if limits.GetMinItems() != 0 {
		schema["minItems"], schema["maxItems"] = limits.GetMinItems(), limits.GetMaxItems()
	}
	if limits.GetPattern() != "" {
		schema["pattern"] = limits.GetPattern()
	}
	if values := limits.GetEnum(); len(values) > 0 {
		list := make([]any, len(values))
		for i, value := range values {
			list[i] = value
		}
		schema["enum"] = list
	}
}
