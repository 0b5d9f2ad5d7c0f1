package main

import (
	"fmt"
	"os"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const omitOption = "lab.type.v1.omit_empty"

// contracts know what the REST codec writes of each message: every field that has not omit_empty, and null for an
// optional one that is not set.
type contracts struct {
	files    *protoregistry.Files
	omit     protoreflect.ExtensionType
	answered map[protoreflect.FullName]bool
	sent     map[protoreflect.FullName]bool
	inputs   map[string]protoreflect.MessageDescriptor // by operation id
	unkeyed  map[string]bool                           // operation ids whose callers send no idempotency key
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
	omit, err := files.FindDescriptorByName(omitOption)
	if err != nil {
		return nil, fmt.Errorf("find the option %s: %w", omitOption, err)
	}
	c := &contracts{files: files, omit: dynamicpb.NewExtensionType(omit.(protoreflect.ExtensionDescriptor)),
		answered: map[protoreflect.FullName]bool{}, sent: map[protoreflect.FullName]bool{},
		inputs: map[string]protoreflect.MessageDescriptor{}, unkeyed: map[string]bool{}}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			c.addService(file.Services().Get(i))
		}
		return true
	})
	return c, nil
}

func (c *contracts) addService(service protoreflect.ServiceDescriptor) {
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		id := string(service.Name()) + "_" + string(method.Name())
		c.inputs[id] = method.Input()
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

// completeSchemas says which fields of the answers are always there, and which may be null. Of a message that is also
// sent it says only the latter: a sender may leave out what the answer always has.
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
		properties[name] = object{"nullable": true, "allOf": []any{object{"$ref": ref}}}
	}
}

// omits reads the option from the options as they were read, where it is still an unknown field.
func (c *contracts) omits(field protoreflect.FieldDescriptor) bool {
	types := new(protoregistry.Types)
	if err := types.RegisterExtension(c.omit); err != nil {
		return false
	}
	raw, err := proto.Marshal(field.Options())
	if err != nil {
		return false
	}
	var options descriptorpb.FieldOptions
	if err := (proto.UnmarshalOptions{Resolver: types}).Unmarshal(raw, &options); err != nil {
		return false
	}
	set, _ := proto.GetExtension(&options, c.omit).(bool)
	return set
}
