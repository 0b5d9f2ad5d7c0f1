package labjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

func appendSpecial(b []byte, t *table, m protoreflect.Message) ([]byte, error) {
	switch t.form {
	case formRaw:
		return appendRaw(b, m.Get(t.fields[0].fd).Bytes())
	case formWrapper:
		return appendValue(b, t.fields[0], m.Get(t.fields[0].fd))
	case formStruct:
		s, err := concrete(m, &structpb.Struct{})
		if err != nil {
			return b, err
		}
		return appendStruct(b, s)
	case formAnyValue:
		v, err := concrete(m, &structpb.Value{})
		if err != nil {
			return b, err
		}
		return appendAny(b, v)
	case formListing:
		l, err := concrete(m, &structpb.ListValue{})
		if err != nil {
			return b, err
		}
		return appendListing(b, l)
	default:
		return appendForeign(b, m)
	}
}

// appendRaw checks that raw is one JSON value, so that an invalid one cannot break the surrounding body.
func appendRaw(b, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(b, "null"...), nil
	}
	d := decoder{data: raw}
	if err := d.document(d.skip); err != nil {
		return b, mismatch("is not valid JSON")
	}
	return append(b, raw...), nil
}

// concrete returns m as the generated type of like; a dynamic message is copied.
func concrete[T proto.Message](m protoreflect.Message, like T) (T, error) {
	if typed, ok := m.Interface().(T); ok {
		return typed, nil
	}
	wire, err := proto.Marshal(m.Interface())
	if err != nil {
		return like, fmt.Errorf("copy a dynamic message: %w", err)
	}
	if err := proto.Unmarshal(wire, like); err != nil {
		return like, fmt.Errorf("copy a dynamic message: %w", err)
	}
	return like, nil
}

func appendStruct(b []byte, s *structpb.Struct) ([]byte, error) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(s.GetFields())) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, name); err != nil {
			return b, err
		}
		b = append(b, ':')
		if b, err = appendAny(b, s.GetFields()[name]); err != nil {
			return b, inField(err, name)
		}
	}
	return append(b, '}'), nil
}

func appendListing(b []byte, l *structpb.ListValue) ([]byte, error) {
	b = append(b, '[')
	for i, v := range l.GetValues() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendAny(b, v); err != nil {
			return b, inElement(err, i)
		}
	}
	return append(b, ']'), nil
}

func appendAny(b []byte, v *structpb.Value) ([]byte, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		if k.BoolValue {
			return append(b, "true"...), nil
		}
		return append(b, "false"...), nil
	case *structpb.Value_NumberValue:
		return appendFloat(b, k.NumberValue, 64)
	case *structpb.Value_StringValue:
		return appendText(b, k.StringValue)
	case *structpb.Value_StructValue:
		return appendStruct(b, k.StructValue)
	case *structpb.Value_ListValue:
		return appendListing(b, k.ListValue)
	default:
		return append(b, "null"...), nil
	}
}

// appendForeign appends protojson's text without whitespace, because protojson's whitespace differs between builds.
func appendForeign(b []byte, m protoreflect.Message) ([]byte, error) {
	text, err := protojson.Marshal(m.Interface())
	if err != nil {
		return b, mismatch("is out of range")
	}
	buf := bytes.NewBuffer(b)
	if err := json.Compact(buf, text); err != nil {
		return b, fmt.Errorf("compact: %w", err)
	}
	return buf.Bytes(), nil
}
