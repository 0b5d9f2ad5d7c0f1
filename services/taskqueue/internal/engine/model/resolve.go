package model

import (
	"bytes"
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
)

// Resolve replaces the record of a dead job.
func (m *Model) Resolve(_ context.Context, x engine.Resolution) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, dead := m.dead[x.ID]
	if !dead || !bytes.Equal(m.records[x.ID], x.Observed) {
		record, ended := m.records[x.ID]
		return ended && bytes.Equal(record, x.Record), nil
	}
	m.records[x.ID] = x.Record
	if x.Sent {
		delete(m.dead, x.ID)
		delete(m.bodies, x.ID)
	}
	m.noteEnd(x.ID)
	m.bear(x.Callbacks)
	return true, nil
}
