package elastic

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// SearchInTurn is Search, but always runs the plans one after the other.
func (s *Store) SearchInTurn(
	ctx context.Context, scope search.Scope, q search.Query, effort search.Effort,
) (search.Result, error) {
	return s.searchBy(ctx, scope, q, effort, s.inTurn)
}

// Request returns the first request for a text, or the combined one.
func (s *Store) Request(text string) []byte {
	fields := search.Fields()
	p := s.compile.First(text, fields, search.Full)
	if second, ok := s.compile.Second(ranking.Plan{}, text, fields, search.Full); ok {
		p = p.With(&second)
	}
	return body(&p, &look{page: search.Query{Text: text, Size: 10}}, time.Second)
}
