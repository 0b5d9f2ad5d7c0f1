package labjson

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Plain fields are not set one by one, because reflection costs more than parsing the JSON. Their wire format is
// appended to that of the enclosing messages, and each message decodes its part at its end.

// wireType returns the wire type of a scalar kind.
func wireType(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.BytesType
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	default:
		return protowire.VarintType
	}
}

// plainScalar reads one value of f and appends its wire format.
func (d *decoder) plainScalar(f *field) error {
	if f.kind == protoreflect.StringKind {
		s, err := d.stringBytes()
		if err != nil {
			return err
		}
		d.wire = protowire.AppendBytes(append(d.wire, f.tag...), s)
		return nil
	}
	v, err := d.scalar(f)
	if err != nil {
		return err
	}
	d.wire = appendWire(append(d.wire, f.tag...), f.kind, v)
	return nil
}

func appendWire(b []byte, kind protoreflect.Kind, v protoreflect.Value) []byte {
	switch kind {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(b, protowire.EncodeBool(v.Bool()))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return protowire.AppendVarint(b, uint64(v.Int()))
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(b, protowire.EncodeZigZag(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return protowire.AppendVarint(b, v.Uint())
	case protoreflect.EnumKind:
		return protowire.AppendVarint(b, uint64(v.Enum()))
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(b, math.Float32bits(float32(v.Float())))
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(b, math.Float64bits(v.Float()))
	case protoreflect.Fixed32Kind:
		return protowire.AppendFixed32(b, uint32(v.Uint()))
	case protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(b, uint32(v.Int()))
	case protoreflect.Fixed64Kind:
		return protowire.AppendFixed64(b, v.Uint())
	case protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(b, uint64(v.Int()))
	default: // bytes
		return protowire.AppendBytes(b, v.Bytes())
	}
}

// take decodes the wire format from start on into m and removes it.
func (d *decoder) take(m protoreflect.Message, start int) error {
	part := d.wire[start:]
	d.wire = d.wire[:start]
	if len(part) == 0 {
		return nil
	}
	if err := (proto.UnmarshalOptions{Merge: true, AllowPartial: true}).Unmarshal(part, m.Interface()); err != nil {
		return d.syntax("has a text that cannot be stored")
	}
	return nil
}
