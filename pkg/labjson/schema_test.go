package labjson_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// every returns the type of a message with a field of every form. Its names have no underscores, which protojson would
// convert, so that both codecs can be compared.
func every(t testing.TB) protoreflect.MessageType {
	t.Helper()
	s := schema{t: t}
	d := descriptorpb.FieldDescriptorProto_TYPE_BOOL
	for _, kind := range []struct {
		name string
		kind descriptorpb.FieldDescriptorProto_Type
	}{
		{"b", d}, {"i", descriptorpb.FieldDescriptorProto_TYPE_INT32}, {"si", descriptorpb.FieldDescriptorProto_TYPE_SINT32},
		{"l", descriptorpb.FieldDescriptorProto_TYPE_INT64}, {"u", descriptorpb.FieldDescriptorProto_TYPE_UINT32},
		{"ul", descriptorpb.FieldDescriptorProto_TYPE_UINT64}, {"f", descriptorpb.FieldDescriptorProto_TYPE_FLOAT},
		{"d", descriptorpb.FieldDescriptorProto_TYPE_DOUBLE}, {"s", descriptorpb.FieldDescriptorProto_TYPE_STRING},
		{"y", descriptorpb.FieldDescriptorProto_TYPE_BYTES},
	} {
		s.add(kind.name, kind.kind, "")
		s.repeated("r"+kind.name, kind.kind, "")
		s.optional("o"+kind.name, kind.kind)
	}
	message := descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	s.add("e", descriptorpb.FieldDescriptorProto_TYPE_ENUM, ".lab.test.Color")
	s.add("m", message, ".lab.test.Every")
	s.repeated("rm", message, ".lab.test.Every")
	s.repeated("ms", message, ".lab.test.Every.MsEntry")
	s.repeated("mm", message, ".lab.test.Every.MmEntry")
	s.repeated("mi", message, ".lab.test.Every.MiEntry")
	for name, full := range map[string]string{"st": "Struct", "lv": "ListValue", "ts": "Timestamp",
		"du": "Duration", "wi": "Int64Value", "ws": "StringValue", "wb": "BoolValue", "em": "Empty"} {
		s.add(name, message, ".google.protobuf."+full)
	}
	s.member("ca", descriptorpb.FieldDescriptorProto_TYPE_STRING)
	s.member("cb", descriptorpb.FieldDescriptorProto_TYPE_INT32)
	s.add("va", message, ".google.protobuf.Value").OneofIndex = proto.Int32(0) // so that unset differs from null
	s.add("raw", message, ".lab.type.v1.RawJSON")
	s.repeated("rraw", message, ".lab.type.v1.RawJSON")
	s.option("flag", typev1.E_Flag)
	s.option("quiet", typev1.E_OmitEmpty)
	return s.build()
}

type schema struct {
	t      testing.TB
	fields []*descriptorpb.FieldDescriptorProto
	synth  []string
}

func (s *schema) add(name string, kind descriptorpb.FieldDescriptorProto_Type, typeName string) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{
		Name: &name, Number: proto.Int32(int32(len(s.fields) + 1)), Type: &kind,
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), JsonName: &name,
	}
	if typeName != "" {
		f.TypeName = &typeName
	}
	s.fields = append(s.fields, f)
	return f
}

func (s *schema) repeated(name string, kind descriptorpb.FieldDescriptorProto_Type, typeName string) {
	s.add(name, kind, typeName).Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
}

func (s *schema) optional(name string, kind descriptorpb.FieldDescriptorProto_Type) {
	f := s.add(name, kind, "")
	s.synth = append(s.synth, "_"+name)
	f.Proto3Optional = proto.Bool(true)
	f.OneofIndex = proto.Int32(int32(len(s.synth))) // index 0 is the real oneof
}

func (s *schema) member(name string, kind descriptorpb.FieldDescriptorProto_Type) {
	s.add(name, kind, "").OneofIndex = proto.Int32(0)
}

func (s *schema) option(name string, ext protoreflect.ExtensionType) {
	f := s.add(name, descriptorpb.FieldDescriptorProto_TYPE_INT32, "")
	f.Options = &descriptorpb.FieldOptions{}
	proto.SetExtension(f.Options, ext, true)
}

func (s *schema) build() protoreflect.MessageType {
	s.t.Helper()
	oneofs := []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}
	for _, name := range s.synth {
		oneofs = append(oneofs, &descriptorpb.OneofDescriptorProto{Name: &name})
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("lab/test/every.proto"), Package: proto.String("lab.test"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/struct.proto", "google/protobuf/timestamp.proto", "google/protobuf/duration.proto",
			"google/protobuf/wrappers.proto", "google/protobuf/empty.proto", "lab/type/v1/type.proto"},
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Color"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("NONE"), Number: proto.Int32(0)}, {Name: proto.String("RED"), Number: proto.Int32(1)}}}},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Every"), Field: s.fields, OneofDecl: oneofs,
			NestedType: []*descriptorpb.DescriptorProto{
				entry("MsEntry", descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_STRING, ""),
				entry("MmEntry", descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".lab.test.Every"),
				entry("MiEntry", descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_INT64, ""),
			},
		}},
	}
	fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		s.t.Fatalf("build the test schema: %v", err)
	}
	return dynamicpb.NewMessageType(fd.Messages().ByName("Every"))
}

func entry(name string, key, value descriptorpb.FieldDescriptorProto_Type, typeName string) *descriptorpb.DescriptorProto {
	label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
	v := &descriptorpb.FieldDescriptorProto{Name: proto.String("value"), Number: proto.Int32(2), Label: label, Type: &value, JsonName: proto.String("value")}
	if typeName != "" {
		v.TypeName = &typeName
	}
	return &descriptorpb.DescriptorProto{
		Name: &name,
		Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("key"), Number: proto.Int32(1), Label: label, Type: &key, JsonName: proto.String("key")}, v},
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
	}
}
