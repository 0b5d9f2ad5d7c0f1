package document

import (
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Encoder writes documents. Make one with NewEncoder and keep it; safe for concurrent use.
type Encoder struct {
	fields []field
	stub   []field
}

// NewEncoder returns an encoder of the present schema.
func NewEncoder() *Encoder { return NewEncoderOf(Schema) }

// NewEncoderOf returns an encoder of another schema: mappings are strict, and an index made for that one refuses newer
// fields.
func NewEncoderOf(schema int) *Encoder {
	e := &Encoder{fields: fieldsOf(schema)}
	for _, f := range e.fields {
		if inStub(f.name) {
			e.stub = append(e.stub, f)
		}
	}
	return e
}

// Document returns the JSON of a patient's document. Empty texts and lists are left out.
func (e *Encoder) Document(r *projection.Row) []byte { return encode(e.fields, r) }

// Stub returns the JSON that takes a document's place where a patient is not, or no longer.
func (e *Encoder) Stub(userID, labID, rev int64) []byte {
	return encode(e.stub, &projection.Row{UserID: userID, LabID: labID, Rev: rev, IsDeleted: true})
}

func encode(fields []field, r *projection.Row) []byte {
	b := make([]byte, 0, 1024)
	b = append(b, '{')
	for _, f := range fields {
		start := len(b)
		if start > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.name...), '"', ':')
		value := len(b)
		if b = f.put(b, r); len(b) == value {
			b = b[:start]
		}
	}
	return append(b, '}')
}
