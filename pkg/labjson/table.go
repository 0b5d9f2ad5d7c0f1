package labjson

import (
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// form is the JSON form of a message type; all but the first are special.
type form uint8

const (
	formObject   form = iota
	formRaw           // lab.type.v1.RawJSON
	formWrapper       // google.protobuf.*Value: the bare value
	formStruct        // google.protobuf.Struct
	formAnyValue      // google.protobuf.Value
	formListing       // google.protobuf.ListValue
	formForeign       // encoded by protojson: Timestamp, Duration, FieldMask, Any
)

const (
	flagOption   = "lab.type.v1.flag"
	omitOption   = "lab.type.v1.omit_empty"
	strictOption = "lab.type.v1.strict"
)

// table holds what the codec needs about one message type. It is immutable, except for the links of its fields.
type table struct {
	form   form
	strict bool
	fields []*field // in order of declaration
	byName map[string]*field
	names  []string // names that a request may use, in order
}

type field struct {
	fd      protoreflect.FieldDescriptor
	number  int    // position in table.fields
	name    string // the proto field name, as documented
	quoted  string // `"name":`
	kind    protoreflect.Kind
	tag     []byte // in wire format; only for plain fields
	plain   bool   // a single scalar outside a oneof
	list    bool
	wide    bool // a 64-bit integer
	isMap   bool
	flag    bool                         // int32 with the value 1 or 0
	omit    bool                         // left out if unset or empty
	tracked bool                         // distinguishes unset from zero
	oneof   protoreflect.OneofDescriptor // nil unless a member of a real oneof
	link    atomic.Pointer[table]        // table of the message type, set on first use
}

// tables caches *table by protoreflect.MessageDescriptor. Descriptors live as long as the program.
var tables sync.Map

func tableOf(md protoreflect.MessageDescriptor) *table {
	if t, ok := tables.Load(md); ok {
		return t.(*table)
	}
	t, _ := tables.LoadOrStore(md, newTable(md))
	return t.(*table)
}

// message returns the table of the field's message type.
func (f *field) message() *table {
	if t := f.link.Load(); t != nil {
		return t
	}
	t := tableOf(f.fd.Message())
	f.link.Store(t)
	return t
}

func newTable(md protoreflect.MessageDescriptor) *table {
	fds := md.Fields()
	t := &table{
		form:   formOf(md.FullName()),
		strict: boolOption(md.Options(), strictOption),
		byName: make(map[string]*field, fds.Len()),
	}
	for i := range fds.Len() {
		f := newField(fds.Get(i), i)
		t.fields = append(t.fields, f)
		t.byName[f.name] = f
		// A JSON name with an underscore is explicit: no default one has it. Requests may use it too.
		if alias := f.fd.JSONName(); strings.Contains(alias, "_") {
			t.byName[alias] = f
			t.names = append(t.names, alias)
		}
		t.names = append(t.names, f.name)
	}
	return t
}

func newField(fd protoreflect.FieldDescriptor, number int) *field {
	f := &field{
		fd:      fd,
		number:  number,
		name:    fd.TextName(),
		kind:    fd.Kind(),
		list:    fd.IsList(),
		isMap:   fd.IsMap(),
		tracked: fd.HasPresence(),
		omit:    boolOption(fd.Options(), omitOption),
	}
	f.quoted = string(append(appendString(nil, f.name), ':'))
	if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
		f.oneof = od
	}
	message := f.kind == protoreflect.MessageKind || f.kind == protoreflect.GroupKind
	if f.plain = !f.list && !f.isMap && !message && f.oneof == nil; f.plain {
		f.tag = protowire.AppendTag(nil, fd.Number(), wireType(f.kind))
	}
	switch f.kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind,
		protoreflect.Fixed64Kind:
		f.wide = true
	}
	f.flag = f.kind == protoreflect.Int32Kind && boolOption(fd.Options(), flagOption)
	return f
}

func formOf(name protoreflect.FullName) form {
	switch name {
	case "lab.type.v1.RawJSON":
		return formRaw
	case "google.protobuf.Struct":
		return formStruct
	case "google.protobuf.Value":
		return formAnyValue
	case "google.protobuf.ListValue":
		return formListing
	case "google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask", "google.protobuf.Any":
		return formForeign
	case "google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue",
		"google.protobuf.Int32Value", "google.protobuf.Int64Value", "google.protobuf.UInt32Value",
		"google.protobuf.UInt64Value", "google.protobuf.FloatValue", "google.protobuf.DoubleValue":
		return formWrapper
	default:
		return formObject
	}
}

// boolOption returns a custom option by the name of its extension, so that this package need not import the contract
// that declares it. An extension that is not linked in counts as unset.
func boolOption(options proto.Message, name protoreflect.FullName) bool {
	xt, err := protoregistry.GlobalTypes.FindExtensionByName(name)
	if err != nil || options == nil || !options.ProtoReflect().IsValid() {
		return false
	}
	if xt.TypeDescriptor().ContainingMessage().FullName() != options.ProtoReflect().Descriptor().FullName() {
		return false
	}
	set, ok := proto.GetExtension(options, xt).(bool)
	return ok && set
}
