package document

import (
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Encoder writes documents as JSON. Create it with NewEncoder or NewEncoderOf and reuse it. It is safe for concurrent
// use.
type Encoder struct {
	fields []field
	stub   []field
}

// NewEncoder returns an encoder for the current schema.
func NewEncoder() *Encoder { return NewEncoderOf(Schema) }

// NewEncoderOf returns an encoder for an older schema. Mappings are strict, so an index of that schema rejects newer
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

// Document returns the JSON of a patient's document, without empty texts and lists.
func (e *Encoder) Document(r *projection.Row) []byte { return encode(e.fields, r) }

// Stub returns the JSON of a document without patient data. It replaces the document of a patient who was deleted or
// has left the laboratory.
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
