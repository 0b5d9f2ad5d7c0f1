package labjson

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func (d *decoder) special(t *table, m protoreflect.Message) error {
	switch t.form {
	case formRaw:
		return d.raw(t, m)
	case formWrapper:
		return d.wrapper(t, m)
	default:
		return d.foreign(t, m)
	}
}

// raw copies the bytes of one value unchanged; null leaves the message empty.
func (d *decoder) raw(t *table, m protoreflect.Message) error {
	if ok, err := d.null(); ok {
		return err
	}
	start := d.pos
	if err := d.skip(); err != nil {
		return err
	}
	value := append([]byte(nil), d.data[start:d.pos]...)
	m.Set(t.fields[0].fd, protoreflect.ValueOfBytes(value))
	return nil
}

func (d *decoder) wrapper(t *table, m protoreflect.Message) error {
	v, err := d.scalar(t.fields[0])
	if err != nil {
		return err
	}
	m.Set(t.fields[0].fd, v)
	return nil
}

// foreign decodes a value with protojson after checking that it is strict JSON. protojson's error texts are not meant
// for users and are replaced.
func (d *decoder) foreign(t *table, m protoreflect.Message) error {
	start := d.pos
	if err := d.skip(); err != nil {
		return err
	}
	target := m.New().Interface()
	if err := protojson.Unmarshal(d.data[start:d.pos], target); err != nil {
		return mismatch(t.form.expectation(m.Descriptor().Name()))
	}
	proto.Merge(m.Interface(), target)
	return nil
}

func (f form) expectation(name protoreflect.Name) string {
	switch {
	case f == formStruct:
		return "must be an object"
	case f == formListing:
		return "must be a list"
	case name == "Timestamp":
		return "must be a time like 2026-01-31T10:00:00Z"
	case name == "Duration":
		return "must be a duration like 1.5s"
	default:
		return "has a form that is not accepted here"
	}
}
