package operate_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

func TestWhatAFilterSelects(t *testing.T) {
	t.Parallel()
	d := newDesk(t, enginetest.New(clock.System{}, engine.DefaultSettings()))
	id := d.ids.Next(0, job.Lane{Channel: job.Email})
	failed := &manage.Job{Snapshot: engine.Snapshot{ID: id}, Record: job.Record{State: job.Failed, LabID: 12, Reason: "http_503"}}
	finished := &manage.Job{Snapshot: engine.Snapshot{ID: id}, Record: job.Record{State: job.Finished, LabID: 12}}
	for name, c := range map[string]struct {
		filter operate.Filter
		view   *manage.Job
		want   bool
	}{
		"everything":          {operate.Filter{}, failed, true},
		"never what finished": {operate.Filter{}, finished, false},
		"its laboratory":      {operate.Filter{LabID: 12}, failed, true},
		"another laboratory":  {operate.Filter{LabID: 13}, failed, false},
		"its channel":         {operate.Filter{Channels: []job.Channel{job.SMS, job.Email}}, failed, true},
		"another channel":     {operate.Filter{Channels: []job.Channel{job.SMS}}, failed, false},
		"its state":           {operate.Filter{States: []job.State{job.Unknown, job.Failed}}, failed, true},
		"another state":       {operate.Filter{States: []job.State{job.Queued}}, failed, false},
		"a reason's start":    {operate.Filter{Reason: "http_5"}, failed, true},
		"another reason":      {operate.Filter{Reason: "503"}, failed, false},
		"older":               {operate.Filter{CreatedBeforeMs: id.CreatedMs() + 1}, failed, true},
		"not older":           {operate.Filter{CreatedBeforeMs: id.CreatedMs()}, failed, false},
	} {
		if got := c.filter.Selects(c.view); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
