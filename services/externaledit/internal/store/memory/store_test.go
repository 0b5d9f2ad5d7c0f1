package memory_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/memory"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

func TestTheMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Subject {
		s := memory.New()
		return storetest.Subject{
			Editing: memory.Editing{Store: s}, Uploads: memory.Uploading{Store: s}, History: memory.History{Store: s}, Sweep: s,
			AddReport: s.AddReport, RemoveReport: func(_, id int64) { s.RemoveReport(id) }, AddTemplate: s.AddTemplate,
			SetListed: s.SetListed,
			Events: func() []session.EventName {
				var names []session.EventName
				for _, e := range s.Events() {
					names = append(names, e.Name)
				}
				return names
			},
		}
	})
}
