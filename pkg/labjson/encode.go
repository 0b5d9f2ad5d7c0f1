package labjson

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const firstBuffer = 512 // bytes; enough for most bodies

// Marshal returns the documented JSON of m, without whitespace and with the fields in the order of declaration. An
// integer beyond ±2^53 is null, followed by a member with its text. Marshal fails on NaN, infinities, text that is not
// UTF-8, and invalid RawJSON.
func Marshal(m proto.Message) ([]byte, error) {
	return Append(make([]byte, 0, firstBuffer), m)
}

// Append appends the JSON of m to b. After an error the returned bytes are b with an incomplete end.
func Append(b []byte, m proto.Message) ([]byte, error) {
	if m == nil {
		return b, errors.New("encode a nil message")
	}
	r := m.ProtoReflect()
	return appendMessage(b, tableOf(r.Descriptor()), r)
}

func appendMessage(b []byte, t *table, m protoreflect.Message) ([]byte, error) {
	if t.form != formObject {
		return appendSpecial(b, t, m)
	}
	b = append(b, '{')
	start := len(b)
	for _, f := range t.fields {
		has := !f.tracked && !f.omit || m.Has(f.fd)
		if !has && (f.oneof != nil || f.omit) {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(b, f.quoted...)
		if !has {
			b = append(b, "null"...)
			continue
		}
		var err error
		if b, err = appendField(b, f, m.Get(f.fd)); err != nil {
			return b, inField(err, f.name)
		}
		if f.inexact(m.Get(f.fd)) {
			b = appendDigits(b, f, m.Get(f.fd))
		}
	}
	return append(b, '}'), nil
}

func appendField(b []byte, f *field, v protoreflect.Value) ([]byte, error) {
	switch {
	case f.list:
		return appendList(b, f, v.List())
	case f.isMap:
		return appendMap(b, f.fd, v.Map())
	default:
		return appendValue(b, f, v)
	}
}

func appendList(b []byte, f *field, l protoreflect.List) ([]byte, error) {
	b = append(b, '[')
	for i := range l.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, f, l.Get(i)); err != nil {
			return b, inElement(err, i)
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, fd protoreflect.FieldDescriptor, m protoreflect.Map) ([]byte, error) {
	value := tableOf(fd.Message()).byName["value"]
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return strings.Compare(x.String(), y.String()) })
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, k.String()); err != nil {
			return b, err
		}
		b = append(b, ':')
		if b, err = appendValue(b, value, m.Get(k)); err != nil {
			return b, inKey(err, k.String())
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, f *field, v protoreflect.Value) ([]byte, error) {
	switch f.kind {
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool()), nil
	case protoreflect.StringKind:
		return appendText(b, v.String())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return appendInt64(b, v.Int()), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return appendUint64(b, v.Uint()), nil
	case protoreflect.DoubleKind:
		return appendFloat(b, v.Float(), 64)
	case protoreflect.FloatKind:
		return appendFloat(b, v.Float(), 32)
	case protoreflect.EnumKind:
		return strconv.AppendInt(b, int64(v.Enum()), 10), nil
	case protoreflect.BytesKind:
		return appendBase64(b, v.Bytes()), nil
	default:
		return appendMessage(b, f.message(), v.Message())
	}
}
