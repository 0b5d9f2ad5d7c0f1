package mongo

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// documentID is an _id as text. This service writes texts; documents of other programs have ObjectIDs.
type documentID string

// UnmarshalBSONValue decodes a text or an ObjectID.
func (d *documentID) UnmarshalBSONValue(kind byte, data []byte) error {
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	if id, ok := v.ObjectIDOK(); ok {
		*d = documentID(id.Hex())
		return nil
	}
	s, _ := v.StringValueOK()
	*d = documentID(s)
	return nil
}

// storedIDs returns the forms in which the store may have the _id of a document.
func storedIDs(id string) bson.A {
	if object, err := bson.ObjectIDFromHex(id); err == nil {
		return bson.A{id, object}
	}
	return bson.A{id}
}

// indices are parameter indices: an array or, in documents of other programs, its text "[1, 3]".
type indices []int

// UnmarshalBSONValue decodes both forms and ignores elements that are not integers.
func (x *indices) UnmarshalBSONValue(kind byte, data []byte) error {
	*x = indices{}
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	if s, ok := v.StringValueOK(); ok {
		for part := range strings.SplitSeq(strings.Trim(s, "[] "), ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(part)); err == nil {
				*x = append(*x, n)
			}
		}
		return nil
	}
	list, ok := v.ArrayOK()
	if !ok {
		return nil
	}
	elements, err := list.Values()
	if err != nil {
		return err
	}
	for _, e := range elements {
		if n, ok := e.AsInt64OK(); ok {
			*x = append(*x, int(n))
		}
	}
	return nil
}

// text is a text. Other programs may store a number, as instruments send it.
type text string

// UnmarshalBSONValue decodes a text or a number. Anything else gives "", so that the rest of the document can be read.
func (t *text) UnmarshalBSONValue(kind byte, data []byte) error {
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	*t = ""
	if s, ok := v.StringValueOK(); ok {
		*t = text(s)
	} else if d, ok := v.Decimal128OK(); ok {
		*t = text(d.String())
	} else if f, ok := v.DoubleOK(); ok {
		*t = text(strconv.FormatFloat(f, 'f', -1, 64))
	} else if n, ok := v.AsInt64OK(); ok {
		*t = text(strconv.FormatInt(n, 10))
	}
	return nil
}

// whole is an integer. Other programs may store its text.
type whole int

// UnmarshalBSONValue decodes a number or its text. Anything else gives 0.
func (w *whole) UnmarshalBSONValue(kind byte, data []byte) error {
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	*w = 0
	if s, ok := v.StringValueOK(); ok {
		n, _ := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		*w = whole(n)
	} else if n, ok := v.AsInt64OK(); ok {
		*w = whole(n)
	}
	return nil
}

// names are texts. Other programs may store numbers among them, or another type than an array.
type names []string

// UnmarshalBSONValue decodes an array of texts or numbers. Anything else gives no names.
func (x *names) UnmarshalBSONValue(kind byte, data []byte) error {
	*x = nil
	list, ok := bson.RawValue{Type: bson.Type(kind), Value: data}.ArrayOK()
	if !ok {
		return nil
	}
	elements, err := list.Values()
	if err != nil {
		return err
	}
	*x = make(names, 0, len(elements))
	for _, e := range elements {
		var name text
		if err := name.UnmarshalBSONValue(byte(e.Type), e.Value); err != nil {
			return err
		}
		*x = append(*x, string(name))
	}
	return nil
}

// testOf returns the test id in a document. A text that is no number names no test: 0 would be the report's own.
func testOf(stored any) (id int64, known bool) {
	switch n := stored.(type) {
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n)
	case string:
		id, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		return id, err == nil
	}
	return 0, false
}

// moment is a time. This service writes dates. Documents of other programs have texts; a text without a zone is in UTC.
type moment struct{ time.Time }

// textLayouts are the formats in which other programs write a time.
var textLayouts = [...]string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999",
	time.DateOnly,
}

// UnmarshalBSONValue decodes a date or a text. Anything else gives the zero time, so that the rest of the document can
// be read.
func (m *moment) UnmarshalBSONValue(kind byte, data []byte) error {
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	*m = moment{}
	if t, ok := v.TimeOK(); ok {
		*m = moment{t.UTC()}
		return nil
	}
	text, _ := v.StringValueOK()
	for _, layout := range textLayouts {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			*m = moment{t.UTC()}
			return nil
		}
	}
	return nil
}

// MarshalBSONValue encodes a date.
func (m moment) MarshalBSONValue() (kind byte, data []byte, err error) {
	t, data, err := bson.MarshalValue(m.Time)
	return byte(t), data, err
}
