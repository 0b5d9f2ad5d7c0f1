package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	"github.com/labplatform/labplatform/services/search/inprocess"
)

// finder returns the first page of a search in one laboratory.
type finder func(ctx context.Context, labID int64, text string) ([]inprocess.Hit, error)

// side is one of the compared searches, with the counts of its responses.
type side struct {
	name   string
	find   finder
	strict bool // fail if the expected patient is not found

	answered, missed, late atomic.Int64 // numbers of searches
}

// uncertain reports whether another patient may match a text of this kind as closely. For all other kinds the expected
// patient must be on the first page.
func uncertain(kind string) bool {
	return strings.Contains(kind, "typing error") || strings.Contains(kind, "sound")
}

// ask makes a search and checks its response. It returns false for a search that exceeded its deadline, which is slow
// but not wrong.
func (s *side) ask(ctx context.Context, j relevance.Judgement) (bool, error) {
	hits, err := s.find(ctx, j.LabID, j.Text)
	if apperr.Is(err, apperr.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		s.late.Add(1)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s, a search by %s: %w", s.name, j.Kind, err)
	}
	s.answered.Add(1)
	return true, s.judge(j, hits)
}

// judge checks that no hit is of another laboratory and, if the side is strict, that the expected patient is found, or
// that there is no hit if none is expected.
func (s *side) judge(j relevance.Judgement, hits []inprocess.Hit) error {
	if i := slices.IndexFunc(hits, func(h inprocess.Hit) bool { return h.LabID != j.LabID }); i >= 0 {
		return fmt.Errorf(
			"%s: a %s in laboratory %d finds patient %d of laboratory %d",
			s.name,
			j.Kind,
			j.LabID,
			hits[i].UserID,
			hits[i].LabID,
		)
	}
	found := slices.ContainsFunc(hits, func(h inprocess.Hit) bool { return h.UserID == j.Want })
	switch {
	case j.Kind == foreign && len(hits) == 0, j.Kind != foreign && found:
		return nil
	case !s.strict || uncertain(j.Kind):
		s.missed.Add(1)
		return nil
	}
	return fmt.Errorf(
		"%s: %q, a %s in laboratory %d, finds %d patients, and patient %d is meant (0: no one)",
		s.name,
		j.Text,
		j.Kind,
		j.LabID,
		len(hits),
		j.Want,
	)
}
