// Package envelope decodes Debezium's messages: a record into a change, and its row images into the columns that the
// pipeline needs. It accepts bare messages and messages wrapped with their schema. Its errors never contain a value of
// a row.
package envelope

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// message is an envelope or the wrapper around one. One type serves both, because their members have different names.
type message struct {
	Op      *string        `json:"op"`
	Before  jsontext.Value `json:"before"`
	After   jsontext.Value `json:"after"`
	Source  *source        `json:"source"`
	Payload jsontext.Value `json:"payload"`
}

type source struct {
	TsMs     int64   `json:"ts_ms"`
	Snapshot *string `json:"snapshot"`
	File     *string `json:"file"`
	Pos      int64   `json:"pos"`
}

// Decode decodes the value of a record. It returns an unknown operation unchanged, without an error. The error is a
// *Malformed: decoding the same record will always fail.
func Decode(r change.Record) (change.Change, error) {
	table := r.Table()
	if isNull(r.Value) {
		return change.Change{Table: table, Tombstone: true}, nil
	}
	m, err := read(r.Value)
	if err != nil {
		return change.Change{}, err
	}
	if m == nil {
		return change.Change{Table: table, Tombstone: true}, nil
	}
	c := change.Change{Table: table, Op: change.Op(*m.Op), Source: m.Source.change()}
	if c.Before, err = image(m.Before, "before"); err != nil {
		return change.Change{}, err
	}
	if c.After, err = image(m.After, "after"); err != nil {
		return change.Change{}, err
	}
	return c, lacking(c)
}

// read returns the envelope without its wrapper; nil for a wrapped null.
func read(value []byte) (*message, error) {
	var m message
	if err := json.Unmarshal(value, &m); err != nil {
		return nil, malformed("value", err)
	}
	if m.Op == nil && m.Payload != nil {
		payload := m.Payload
		if isNull(payload) {
			return nil, nil
		}
		m = message{}
		if err := json.Unmarshal(payload, &m); err != nil {
			return nil, malformed("payload", err)
		}
	}
	if m.Op == nil || *m.Op == "" {
		return nil, &Malformed{Part: "value", What: "has no op: it is no change event"}
	}
	return &m, nil
}

// image returns a row image, or nil if it is absent or null.
func image(v jsontext.Value, part string) ([]byte, error) {
	switch {
	case isNull(v):
		return nil, nil
	case v.Kind() != '{':
		return nil, &Malformed{Part: part, What: "is no JSON object"}
	}
	return v, nil
}

// lacking returns an error if an image required by the operation is missing.
func lacking(c change.Change) error {
	switch c.Op {
	case change.Read, change.Create, change.Update:
		if c.After == nil {
			return &Malformed{Part: "after", What: "is missing"}
		}
	}
	return nil
}

func (s *source) change() change.Source {
	if s == nil {
		return change.Source{}
	}
	return change.Source{TsMs: s.TsMs, Snapshot: text(s.Snapshot), File: text(s.File), Pos: s.Pos}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func isNull(v []byte) bool { return len(v) == 0 || string(v) == "null" }
