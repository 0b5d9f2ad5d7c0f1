package mapping_test

import (
	"context"
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mapping"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

type store struct {
	lab, at int64
	keyword string
	data    string
	err     error
}

func (s *store) Put(_ context.Context, lab int64, keyword string, data []byte, at int64) error {
	s.lab, s.keyword, s.data, s.at = lab, keyword, string(data), at
	return s.err
}

func TestAMappingIsStoredForItsLaboratoryInTheOrderOfAcceptance(t *testing.T) {
	t.Parallel()
	s := &store{}
	h := mapping.NewHandler(s)
	d := worker.Delivery{Body: &job.Body{LabID: 12, CreatedMs: 1000, Data: []byte(`{"keyword":"hb","data":{"a": 1},"position":2}`)}}
	if result, err := h.Handle(t.Context(), d); err != nil || !result.Sent {
		t.Fatalf("%+v, %v", result, err)
	}
	if *s != (store{lab: 12, at: 1002, keyword: "hb", data: `{"a": 1}`}) {
		t.Errorf("%+v", *s)
	}
	s.err = apperr.New(apperr.Unavailable, "DATABASE_UNAVAILABLE", "away")
	if _, err := h.Handle(t.Context(), d); !job.AsFailure(err).Postponed {
		t.Errorf("an absent database costs no attempt: %v", err)
	}
	s.err = errors.New("broken")
	if _, err := h.Handle(t.Context(), d); job.AsFailure(err).Postponed || job.AsFailure(err).Permanent {
		t.Errorf("%v", err)
	}
	d.Body.Data = []byte("{")
	if _, err := h.Handle(t.Context(), d); !job.AsFailure(err).Permanent {
		t.Errorf("%v", err)
	}
}
