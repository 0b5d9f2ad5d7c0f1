package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	omitOption    = "lab.type.v1.omit_empty"
	callersOption = "lab.type.v1.callers"
)

// contracts holds facts from the contracts' descriptors that the generated document lacks. Most come from the REST
// codec's rules: it writes every field except those with omit_empty, and null for an optional field that is not set.
type contracts struct {
	files    *protoregistry.Files
	omit     protoreflect.ExtensionType
	admits   protoreflect.ExtensionType
	answered map[protoreflect.FullName]bool
	sent     map[protoreflect.FullName]bool
	inputs   map[string]protoreflect.MessageDescriptor // request messages by operation id
	unkeyed  map[string]bool                           // operation ids without an idempotency key
	callers  map[string]string                         // a sentence by operation id
	options  *protoregistry.Types
}

func readContracts(image string) (*contracts, error) {
	in, err := os.ReadFile(image)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(in, &set); err != nil {
		return nil, fmt.Errorf("parse %s: %w", image, err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", image, err)
	}
	c := &contracts{files: files, answered: map[protoreflect.FullName]bool{}, sent: map[protoreflect.FullName]bool{},
		inputs: map[string]protoreflect.MessageDescriptor{}, callers: map[string]string{},
		unkeyed: map[string]bool{}, options: new(protoregistry.Types)}
	if c.omit, err = c.option(omitOption); err != nil {
		return nil, err
	}
	if c.admits, err = c.option(callersOption); err != nil {
		return nil, err
	}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			c.addService(file.Services().Get(i))
		}
		return true
	})
	return c, nil
}

// option returns the type of one of this project's options and registers it, so that read finds it.
func (c *contracts) option(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	descriptor, err := c.files.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("find the option %s: %w", name, err)
	}
	option := dynamicpb.NewExtensionType(descriptor.(protoreflect.ExtensionDescriptor))
	return option, c.options.RegisterExtension(option)
}

func (c *contracts) addService(service protoreflect.ServiceDescriptor) {
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		id := string(service.Name()) + "_" + string(method.Name())
		c.inputs[id], c.callers[id] = method.Input(), c.callersOf(method)
		options, _ := method.Options().(*descriptorpb.MethodOptions)
		c.unkeyed[id] = method.IsStreamingClient() ||
			options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
		reach(method.Input(), c.sent)
		reach(method.Output(), c.answered)
	}
}

func reach(message protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
	if seen[message.FullName()] {
		return
	}
	seen[message.FullName()] = true
	for i := range message.Fields().Len() {
		if below := message.Fields().Get(i).Message(); below != nil {
			reach(below, seen)
		}
	}
}

// completeSchemas marks the fields of responses that are always present as required, and optional ones as nullable. A
// message that is part of requests too gets no required fields, because a client may omit what responses always have.
func (c *contracts) completeSchemas(doc object) {
	schemas := child(child(doc, "components"), "schemas")
	for name := range c.answered {
		schema, ok := schemas[string(name)].(object)
		if !ok || name == anyJSON {
			continue
		}
		message, err := c.files.FindDescriptorByName(name)
		if err != nil {
			continue
		}
		c.complete(schema, message.(protoreflect.MessageDescriptor).Fields(), !c.sent[name])
	}
	schemas[anyJSON] = object{"description": "Any JSON value."}
}

func (c *contracts) complete(schema object, fields protoreflect.FieldDescriptors, always bool) {
	properties := child(schema, "properties")
	required, _ := schema["required"].([]any)
	for i := range fields.Len() {
		field := fields.Get(i)
		property, ok := properties[field.TextName()].(object)
		if !ok {
			continue
		}
		if field.HasOptionalKeyword() {
			nullable(properties, field.TextName(), property)
		}
		if name := field.TextName(); always && !c.omits(field) && !slices.Contains(required, any(name)) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		schema["required"] = required
	}
}

func nullable(properties object, name string, property object) {
	property["nullable"] = true
	if values, ok := property["enum"].([]any); ok {
		property["enum"] = append(values, nil)
	}
	if ref, ok := property["$ref"]; ok {
		property = object{"nullable": true, "allOf": []any{object{"$ref": ref}}}
		properties[name] = property
	}
	// OpenAPI 3.0 requires a type next to nullable. RawJSON has no type and may be null without it.
	switch list, _ := property["allOf"].([]any); {
	case len(list) == 0:
	case list[0].(object)["$ref"] == "#/components/schemas/"+anyJSON:
		delete(property, "nullable")
	default:
		property["type"] = "object"
	}
}

func (c *contracts) omits(field protoreflect.FieldDescriptor) bool {
	var options descriptorpb.FieldOptions
	if !c.read(field, &options) {
		return false
	}
	set, _ := proto.GetExtension(&options, c.omit).(bool)
	return set
}

// callersOf returns a sentence with the logins, tokens and services that may call a method.
func (c *contracts) callersOf(method protoreflect.MethodDescriptor) string {
	var options descriptorpb.MethodOptions
	if !c.read(method, &options) {
		return ""
	}
	callers := proto.GetExtension(&options, c.admits).(proto.Message).ProtoReflect() // empty if not set
	field := func(name protoreflect.Name) protoreflect.Value {
		return callers.Get(callers.Descriptor().Fields().ByName(name))
	}
	var admitted []string
	if field("users").Bool() {
		admitted = append(admitted, "logins of people")
	}
	if field("instrument_tokens").Bool() {
		admitted = append(admitted, "tokens of instruments")
	}
	services := field("services").List()
	for i := range services.Len() {
		admitted = append(admitted, "the service `"+services.Get(i).String()+"`")
	}
	if len(admitted) == 0 {
		return ""
	}
	return "Callers: " + strings.Join(admitted, ", ") + "."
}

// read parses the options of d with this project's options, which are unknown fields in the descriptor as it was
// loaded. It reports whether that worked.
func (c *contracts) read(d protoreflect.Descriptor, options proto.Message) bool {
	raw, err := proto.Marshal(d.Options())
	return err == nil && proto.UnmarshalOptions{Resolver: c.options}.Unmarshal(raw, options) == nil
}
