package job

import (
	"errors"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// The stored form is the protobuf wire format. Unknown fields are skipped, so that old and new processes can share a
// Redis during a deployment, and `protoc --decode_raw` can read it. Each stored type lists its fields once, for both
// directions.

var errCorrupt = errors.New("stored job is corrupt")

// wire reads or writes the fields of one message. Zero values are not stored.
type wire struct {
	out    []byte // used only for writing
	fields *table // used only for reading
	err    error  // error of a nested message
}

func (w *wire) reading() bool { return w.fields != nil }

const maxField = 31

// stored holds the values of one field: the last one, and all earlier ones if the field is repeated.
type stored struct {
	number int64
	text   []byte
	more   [][]byte // values before the last one
}

type table [maxField + 1]stored

// known is a pool of field tables for decoding.
var known = sync.Pool{New: func() any { return new(table) }}

// message is a type with a stored form. Its method names each field once, for reading and writing.
type message interface{ wire(*wire) }

// encode appends the stored form of m to dst.
func encode(dst []byte, m message) []byte {
	w := wire{out: dst}
	m.wire(&w)
	return w.out
}

// decode decodes a stored message. The result shares memory with raw.
func decode(raw []byte, m message) error {
	fields, _ := known.Get().(*table)
	defer func() {
		clear(fields[:])
		known.Put(fields)
	}()
	for len(raw) > 0 {
		field, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return errCorrupt
		}
		raw = raw[n:]
		var at stored
		switch kind {
		case protowire.VarintType:
			var number uint64
			number, n = protowire.ConsumeVarint(raw)
			at.number = int64(number)
		case protowire.BytesType:
			at.text, n = protowire.ConsumeBytes(raw)
		default:
			n = protowire.ConsumeFieldValue(field, kind, raw)
		}
		if n < 0 {
			return errCorrupt
		}
		raw = raw[n:]
		if field > maxField {
			continue
		}
		if before := &fields[field]; before.text != nil {
			at.more = append(before.more, before.text)
		}
		fields[field] = at
	}
	w := wire{fields: fields}
	m.wire(&w)
	return w.err
}

func integer[T ~int | ~int64 | ~uint8](w *wire, field protowire.Number, v *T) {
	switch {
	case w.reading():
		*v = T(w.fields[field].number)
	case *v != 0:
		w.out = protowire.AppendVarint(protowire.AppendTag(w.out, field, protowire.VarintType), uint64(*v))
	}
}

func truth(w *wire, field protowire.Number, v *bool) {
	one := 0
	if *v {
		one = 1
	}
	integer(w, field, &one)
	*v = one == 1
}

func text[T ~string | ~[]byte](w *wire, field protowire.Number, v *T) {
	switch {
	case w.reading():
		*v = T(w.fields[field].text)
	case len(*v) > 0:
		w.out = protowire.AppendTag(w.out, field, protowire.BytesType)
		w.out = append(protowire.AppendVarint(w.out, uint64(len(*v))), *v...)
	}
}

// texts returns all values of a repeated field.
func (w *wire) texts(field protowire.Number) [][]byte {
	last := w.fields[field]
	if last.text == nil {
		return nil
	}
	return append(last.more, last.text)
}
