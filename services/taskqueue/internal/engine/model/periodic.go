package model

import (
	"bytes"
	"context"
	"maps"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
)

// Periodic reads the definitions of periodic jobs.
func (m *Model) Periodic(context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.periodic), nil
}

// Tick changes a definition, with the job of its tick.
func (m *Model) Tick(_ context.Context, t engine.Tick) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.periodic[t.Key]; !bytes.Equal(known, t.Observed) {
		return bytes.Equal(known, t.Definition), nil
	}
	m.periodic[t.Key] = t.Definition
	if len(t.Definition) == 0 {
		delete(m.periodic, t.Key)
	}
	if t.Job != nil {
		m.addJob(*t.Job, t.Job.ID, t.Job.DueMs)
	}
	return true, nil
}
