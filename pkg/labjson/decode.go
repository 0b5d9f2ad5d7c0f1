package labjson

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Unmarshal replaces m by the message in the JSON text. Errors are *SyntaxError, *TypeError or, for a message with
// option lab.type.v1.strict, *UnknownFieldsError; after an error the content of m is undefined.
func Unmarshal(data []byte, m proto.Message) error {
	unknown, err := UnmarshalReport(data, m)
	if err != nil {
		return err
	}
	if len(unknown) > 0 && tableOf(m.ProtoReflect().Descriptor()).strict {
		return &UnknownFieldsError{Names: unknown}
	}
	return nil
}

// UnmarshalReport decodes like Unmarshal but accepts unknown names at the top level, unless they resemble a field: it
// returns them in the order of the text, and leaves the decision to the caller.
func UnmarshalReport(data []byte, m proto.Message) (unknown []string, err error) {
	proto.Reset(m)
	d := decoder{data: data}
	r := m.ProtoReflect()
	t := tableOf(r.Descriptor())
	err = d.document(func() error {
		if t.form != formObject {
			return d.special(t, r)
		}
		return d.message(t, r, &unknown)
	})
	return unknown, err
}

// members records the names seen in one object: fields by position, unknown names as text.
type members struct {
	known   [4]uint64
	more    map[int]struct{} // fields at positions above 255
	unknown keys
}

func (s *members) add(number int) bool {
	if number < 256 {
		bit := uint64(1) << (number & 63)
		word := &s.known[number>>6]
		fresh := *word&bit == 0
		*word |= bit
		return fresh
	}
	if _, ok := s.more[number]; ok {
		return false
	}
	if s.more == nil {
		s.more = make(map[int]struct{})
	}
	s.more[number] = struct{}{}
	return true
}

// message decodes an object into m. Unknown names are appended to unknown unless it is nil.
func (d *decoder) message(t *table, m protoreflect.Message, unknown *[]string) error {
	if d.peek() != '{' {
		return d.unexpected("must be an object")
	}
	if err := d.enter(); err != nil {
		return err
	}
	var seen members
	next, wire := 0, len(d.wire)
	for more := d.peek() != '}'; more; {
		name, err := d.key()
		if err != nil {
			return err
		}
		f := t.find(name, next)
		if f == nil {
			err = d.unknownField(t, name, &seen, unknown)
		} else {
			next = f.number + 1
			err = d.known(m, f, &seen)
		}
		if err != nil {
			return err
		}
		if more, err = d.more('}'); err != nil {
			return err
		}
	}
	d.leave()
	return d.take(m, wire)
}

// find tries the field at position next first, because most senders use the documented order.
func (t *table) find(name []byte, next int) *field {
	if next < len(t.fields) && t.fields[next].name == string(name) {
		return t.fields[next]
	}
	return t.byName[string(name)]
}

// unknownField skips a field that the message does not have. It returns an error if the name resembles a field, because
// a misspelt field would otherwise count as missing.
func (d *decoder) unknownField(t *table, name []byte, seen *members, unknown *[]string) error {
	if !seen.unknown.add(name) {
		return d.duplicate(name)
	}
	if meant := Near(string(name), t.names); meant != "" {
		return &TypeError{Path: shortName(name), Problem: "is not a field; it is written " + meant}
	}
	if t.strict && unknown == nil {
		return &TypeError{Path: shortName(name), Problem: "is not a field here; leave it out"}
	}
	if unknown != nil {
		*unknown = append(*unknown, string(name))
	}
	return d.skip()
}

func shortName(name []byte) string { return string(name[:min(len(name), shownName)]) }

func (d *decoder) known(m protoreflect.Message, f *field, seen *members) error {
	if !seen.add(f.number) {
		return d.duplicate([]byte(f.name))
	}
	if d.peek() == 'n' && !f.keepsNull() {
		return d.literal("null")
	}
	if f.oneof != nil && m.WhichOneof(f.oneof) != nil {
		return &TypeError{Path: f.name, Problem: "excludes another field that was sent as well"}
	}
	if err := d.field(m, f); err != nil {
		return inField(err, f.name)
	}
	return nil
}

// keepsNull reports whether null is a value of the field, as opposed to "unset".
func (f *field) keepsNull() bool {
	if f.list || f.isMap {
		return false
	}
	if f.kind == protoreflect.EnumKind {
		return f.fd.Enum().FullName() == nullValue
	}
	return f.kind == protoreflect.MessageKind && f.message().form == formAnyValue
}

func (d *decoder) field(m protoreflect.Message, f *field) error {
	switch {
	case f.plain:
		return d.plainScalar(f)
	case f.list:
		return d.list(f, m.Mutable(f.fd).List())
	case f.isMap:
		return d.mapping(f, m.Mutable(f.fd).Map())
	case f.kind == protoreflect.MessageKind || f.kind == protoreflect.GroupKind:
		return d.submessage(f.message(), m.Mutable(f.fd).Message())
	}
	v, err := d.scalar(f)
	if err != nil {
		return err
	}
	m.Set(f.fd, v)
	return nil
}

func (d *decoder) submessage(t *table, m protoreflect.Message) error {
	if t.form != formObject {
		return d.special(t, m)
	}
	return d.message(t, m, nil)
}

func (d *decoder) list(f *field, l protoreflect.List) error {
	if d.peek() != '[' {
		return d.unexpected("must be a list")
	}
	return d.array(func(i int) error { return at(d.element(f, l), i) })
}

// at adds the index of a list element to the path of err, like inElement; it returns nil for nil.
func at(err error, index int) error {
	if err == nil {
		return nil
	}
	return inElement(err, index)
}

func (d *decoder) element(f *field, l protoreflect.List) error {
	if f.kind == protoreflect.MessageKind {
		if d.peek() == 'n' && !f.message().takesNull() {
			return d.unexpected("must be an object")
		}
		return d.submessage(f.message(), l.AppendMutable().Message())
	}
	v, err := d.scalar(f)
	if err != nil {
		return err
	}
	l.Append(v)
	return nil
}

// takesNull reports whether the type can represent null in a list or map.
func (t *table) takesNull() bool { return t.form == formAnyValue || t.form == formRaw }

func (d *decoder) mapping(f *field, m protoreflect.Map) error {
	if d.peek() != '{' {
		return d.unexpected("must be an object")
	}
	entry := tableOf(f.fd.Message())
	return d.object(func(name []byte) error {
		k, err := mapKey(entry.byName["key"], name)
		if err != nil {
			return err
		}
		if m.Has(k) {
			return d.duplicate(name)
		}
		if err := d.mapValue(entry.byName["value"], m, k); err != nil {
			return inKey(err, k.String())
		}
		return nil
	})
}

func (d *decoder) mapValue(f *field, m protoreflect.Map, k protoreflect.MapKey) error {
	if f.kind == protoreflect.MessageKind {
		if d.peek() == 'n' && !f.message().takesNull() {
			return d.unexpected("must be an object")
		}
		v := m.NewValue()
		if err := d.submessage(f.message(), v.Message()); err != nil {
			return err
		}
		m.Set(k, v)
		return nil
	}
	v, err := d.scalar(f)
	if err != nil {
		return err
	}
	m.Set(k, v)
	return nil
}

// unexpected skips a value of the wrong type. It returns a SyntaxError for invalid JSON, otherwise the mismatch.
func (d *decoder) unexpected(problem string) error {
	if err := d.skip(); err != nil {
		return err
	}
	return mismatch(problem)
}
