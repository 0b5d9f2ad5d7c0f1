package labjson

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// appendBareMap appends a map with text keys: server streams wrap each message in {"result": …}.
func appendBareMap(b []byte, v reflect.Value) ([]byte, error) {
	names := v.MapKeys()
	slices.SortFunc(names, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, name.String()); err != nil {
			return b, err
		}
		b = append(b, ':')
		if b, err = appendBare(b, v.MapIndex(name)); err != nil {
			return b, inKey(err, name.String())
		}
	}
	return append(b, '}'), nil
}

// bare decodes one value into a field of a generated request; null leaves the field unchanged.
func (d *decoder) bare(v reflect.Value) error {
	if ok, err := d.null(); ok {
		return err
	}
	switch v.Kind() {
	case reflect.Pointer:
		return d.barePointer(v)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return d.bareList(v)
		}
		data, err := d.base64()
		v.SetBytes(data)
		return err
	default:
		return d.bareScalar(v)
	}
}

func (d *decoder) barePointer(v reflect.Value) error {
	v.Set(reflect.New(v.Type().Elem()))
	m, ok := v.Interface().(proto.Message)
	if !ok {
		return d.bare(v.Elem())
	}
	r := m.ProtoReflect()
	return d.submessage(tableOf(r.Descriptor()), r)
}

func (d *decoder) bareList(v reflect.Value) error {
	if d.peek() != '[' {
		return d.unexpected("must be a list")
	}
	v.SetLen(0)
	return d.array(func(i int) error {
		if d.peek() == 'n' {
			return at(d.unexpected("must not be null"), i)
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.bare(element); err != nil {
			return inElement(err, i)
		}
		v.Set(reflect.Append(v, element))
		return nil
	})
}

func (d *decoder) bareScalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		s, err := d.stringValue()
		v.SetString(s)
		return err
	case reflect.Bool:
		flag, err := d.flagValue()
		v.SetBool(flag)
		return err
	case reflect.Int32:
		n, err := d.integer(math.MinInt32, math.MaxInt32)
		v.SetInt(n)
		return err
	case reflect.Int64:
		n, err := d.integer(-maxExact, maxExact)
		v.SetInt(n)
		return err
	case reflect.Uint32:
		n, err := d.integer(0, math.MaxUint32)
		v.SetUint(uint64(n))
		return err
	case reflect.Uint64:
		n, err := d.integer(0, maxExact)
		v.SetUint(uint64(n))
		return err
	case reflect.Float32, reflect.Float64:
		f, err := d.float(v.Type().Bits())
		v.SetFloat(f)
		return err
	default:
		return mismatch("has a form that is not accepted here")
	}
}
