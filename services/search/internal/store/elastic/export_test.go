package elastic

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Document is a patient as the index holds it.
type Document = document

// ReadDocument reads the source of one.
func ReadDocument(text []byte) (*Document, error) {
	var source source
	err := json.Unmarshal(text, &source)
	return &document{source: &source}, err
}

// SearchInTurn is Search that asks for its plans one after the other, whatever the text.
func (s *Store) SearchInTurn(
	ctx context.Context, scope search.Scope, q search.Query, effort search.Effort,
) (search.Result, error) {
	return s.searchBy(ctx, scope, q, effort, s.inTurn)
}

// Way is one query of a text's plans, as the engine reads it and as we read it.
type Way struct {
	Query []byte
	Holds func(d *Document) bool
}

// Ways returns every query that explains hits of a text.
func (s *Store) Ways(text string, fields []search.Field) []Way {
	first := s.compile.first(text, fields, search.Full)
	plans := []plan{first}
	for _, r := range []reach{near, far} {
		if further, ok := s.compile.second(plan{}, text, fields, search.Full, r); ok {
			plans = append(plans, further)
		}
	}
	var ways []Way
	add := func(q query) {
		asked := q.in(layout{})
		ways = append(ways, Way{asked.append(nil), q.holds})
	}
	for _, p := range plans {
		for _, c := range p.clauses {
			add(c.found)
		}
		for _, e := range p.byWord {
			for _, w := range e.words {
				for _, l := range w {
					add(l.found)
				}
			}
		}
	}
	return ways
}

// Request returns the request that a text is asked with first, or at once.
func (s *Store) Request(text string) []byte {
	fields := search.Fields()
	p := s.compile.first(text, fields, search.Full)
	if second, ok := s.compile.second(plan{}, text, fields, search.Full, near); ok {
		p.clauses, p.byWord = append(p.clauses, second.clauses...), append(p.byWord, second.byWord...)
	}
	return p.body(&look{page: search.Query{Text: text, Size: 10}}, time.Second)
}
