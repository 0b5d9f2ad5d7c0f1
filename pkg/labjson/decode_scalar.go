package labjson

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const nullValue = "google.protobuf.NullValue"

func (d *decoder) scalar(f *field) (protoreflect.Value, error) {
	switch f.kind {
	case protoreflect.StringKind:
		s, err := d.stringValue()
		return protoreflect.ValueOfString(s), err
	case protoreflect.BoolKind:
		v, err := d.flagValue()
		return protoreflect.ValueOfBool(v), err
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		if f.flag {
			return d.flagInt()
		}
		n, err := d.integer(math.MinInt32, math.MaxInt32)
		return protoreflect.ValueOfInt32(int32(n)), err
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := d.integer(-maxExact, maxExact)
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := d.integer(0, math.MaxUint32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := d.integer(0, maxExact)
		return protoreflect.ValueOfUint64(uint64(n)), err
	case protoreflect.DoubleKind:
		v, err := d.float(64)
		return protoreflect.ValueOfFloat64(v), err
	case protoreflect.FloatKind:
		v, err := d.float(32)
		return protoreflect.ValueOfFloat32(float32(v)), err
	case protoreflect.EnumKind:
		return d.enum(f.fd.Enum())
	default: // bytes; messages are not scalars
		data, err := d.base64()
		return protoreflect.ValueOfBytes(data), err
	}
}

func (d *decoder) stringBytes() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.unexpected("must be a text")
	}
	return d.text()
}

func (d *decoder) stringValue() (string, error) {
	s, err := d.stringBytes()
	return string(s), err
}

// flagValue decodes a flag in any of its documented forms.
func (d *decoder) flagValue() (bool, error) {
	const problem = "must be true or false"
	var word []byte
	var err error
	switch c := d.peek(); {
	case c == 't':
		return true, d.literal("true")
	case c == 'f':
		return false, d.literal("false")
	case c == '"':
		word, err = d.text()
	case c == '-' || c-'0' <= 9:
		word, err = d.number()
	default:
		return false, d.unexpected(problem)
	}
	if err != nil {
		return false, err
	}
	switch string(word) {
	case "1", "true", "True":
		return true, nil
	case "0", "false", "False":
		return false, nil
	default:
		return false, mismatch(problem)
	}
}

func (d *decoder) flagInt() (protoreflect.Value, error) {
	v, err := d.flagValue()
	if v {
		return protoreflect.ValueOfInt32(1), err
	}
	return protoreflect.ValueOfInt32(0), err
}

// numeral reads a number, or a text that is a number and nothing else.
func (d *decoder) numeral(problem string) ([]byte, error) {
	switch c := d.peek(); {
	case c == '-' || c-'0' <= 9:
		return d.number()
	case c == '"':
		s, err := d.text()
		if err != nil {
			return nil, err
		}
		inner := decoder{data: s}
		lit, err := inner.number()
		if err != nil || inner.pos != len(s) {
			return nil, mismatch(problem)
		}
		return lit, nil
	default:
		return nil, d.unexpected(problem)
	}
}

func (d *decoder) integer(low, high int64) (int64, error) {
	lit, err := d.numeral("must be an integer")
	if err != nil {
		return 0, err
	}
	n, whole, fits := parseInteger(lit)
	switch {
	case !whole:
		return 0, mismatch("must be an integer")
	case !fits || n < low || n > high:
		return 0, mismatch("must be an integer from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10))
	default:
		return n, nil
	}
}

func (d *decoder) float(bits int) (float64, error) {
	lit, err := d.numeral("must be a number")
	if err != nil {
		return 0, err
	}
	// ParseFloat keeps no reference to its text, so the copy of string(lit) is avoided.
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(lit), len(lit)), bits)
	if err != nil {
		return 0, mismatch("is a number that is too large")
	}
	return v, nil
}

func (d *decoder) enum(ed protoreflect.EnumDescriptor) (protoreflect.Value, error) {
	if d.peek() == 'n' && ed.FullName() == nullValue {
		return protoreflect.ValueOfEnum(0), d.literal("null")
	}
	if d.peek() != '"' {
		n, err := d.integer(math.MinInt32, math.MaxInt32)
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), err
	}
	name, err := d.text()
	if err != nil {
		return protoreflect.Value{}, err
	}
	v := ed.Values().ByName(protoreflect.Name(name))
	if v == nil {
		return protoreflect.Value{}, mismatch("is none of the documented values")
	}
	return protoreflect.ValueOfEnum(v.Number()), nil
}

// base64 accepts both alphabets, with and without padding.
func (d *decoder) base64() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.unexpected("must be base64 text")
	}
	raw, err := d.text()
	if err != nil {
		return nil, err
	}
	s := strings.TrimRight(string(raw), "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	data, err := enc.DecodeString(s)
	if err != nil {
		return nil, mismatch("must be base64 text")
	}
	return data, nil
}

func mapKey(f *field, name []byte) (protoreflect.MapKey, error) {
	if f.kind == protoreflect.StringKind {
		return protoreflect.ValueOfString(string(name)).MapKey(), nil
	}
	const problem = "has a name that is not a key of this object"
	if f.kind == protoreflect.BoolKind {
		switch string(name) {
		case "true", "false":
			return protoreflect.ValueOfBool(name[0] == 't').MapKey(), nil
		}
		return protoreflect.MapKey{}, mismatch(problem)
	}
	for _, c := range name {
		if c != '-' && c-'0' > 9 {
			return protoreflect.MapKey{}, mismatch(problem)
		}
	}
	inner := decoder{data: append(append([]byte{'"'}, name...), '"')}
	v, err := inner.scalar(f)
	if err != nil {
		return protoreflect.MapKey{}, mismatch(problem)
	}
	return v.MapKey(), nil
}
