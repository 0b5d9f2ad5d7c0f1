package labjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
)

// Codec is the labjson marshaler for grpc-gateway; wrap it in runtime.HTTPBodyMarshaler. It supports messages and the
// values that generated handlers use for `body: "field"` and `response_body: "field"`: lists of messages, pointers to
// messages, scalars and lists of scalars. The zero value is ready to use and safe for concurrent use.
type Codec struct{}

var _ runtime.Marshaler = Codec{}

// ContentType returns application/json for every value.
func (Codec) ContentType(any) string { return "application/json" }

// Marshal returns the JSON of a message or of a field's value.
func (Codec) Marshal(v any) ([]byte, error) {
	return appendBare(make([]byte, 0, firstBuffer), reflect.ValueOf(v))
}

// Unmarshal decodes data into the message or field that v points to.
func (Codec) Unmarshal(data []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return Unmarshal(data, m)
	}
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode into %T: not a pointer", v)
	}
	d := decoder{data: data}
	return d.document(func() error { return d.bare(target.Elem()) })
}

// NewDecoder returns a decoder that reads the whole body as one value. An empty body is io.EOF, which generated
// handlers treat as "no body".
func (c Codec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
			return io.EOF
		}
		return c.Unmarshal(data, v)
	})
}

// NewEncoder returns an encoder that writes each value followed by a line feed.
func (c Codec) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := c.Marshal(v)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(data, '\n')); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		return nil
	})
}

func appendBare(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() || (v.Kind() == reflect.Pointer && v.IsNil()) {
		return append(b, "null"...), nil
	}
	if m, ok := v.Interface().(proto.Message); ok {
		return Append(b, m)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return appendBare(b, v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return appendBareList(b, v)
		}
		return appendBase64(b, v.Bytes()), nil
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Int64, reflect.Int32:
		return appendInt64(b, v.Int()), nil
	case reflect.Uint64, reflect.Uint32:
		return appendUint64(b, v.Uint()), nil
	case reflect.Float64, reflect.Float32:
		return appendFloat(b, v.Float(), v.Type().Bits())
	case reflect.Map:
		return appendBareMap(b, v)
	default: // bool, and the small structs of the gateway's own code
		text, err := json.Marshal(v.Interface())
		return append(b, text...), err
	}
}

func appendBareList(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendBare(b, v.Index(i)); err != nil {
			return b, inElement(err, i)
		}
	}
	return append(b, ']'), nil
}
