package grpcapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
)

func webhookTask() *taskqueuev1.Task {
	return &taskqueuev1.Task{Task: 4, TaskType: 2, Data: &typev1.RawJSON{Json: []byte(`{"url":"https://a.example/"}`)}}
}

func TestAServicePutsListsAndDeletesItsPeriodicJobs(t *testing.T) {
	t.Parallel()
	a, lab := open(t, grpcapi.AccessAuthenticated), int64(12)
	put, err := a.PutPeriodicJob(asService(t), &taskqueuev1.PutPeriodicJobRequest{Name: "sweep", Cron: "0 3 * * *", Task: webhookTask(), LabId: &lab})
	if err != nil || put.GetNextAt() == "" {
		t.Fatalf("%v, %v", put, err)
	}
	list, err := a.ListPeriodicJobs(asService(t), &taskqueuev1.ListPeriodicJobsRequest{LabId: &lab})
	if err != nil || len(list.GetJobs()) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if j := list.GetJobs()[0]; j.GetName() != "sweep" || j.GetMissed() != "skip" || j.GetNextAt() != put.GetNextAt() || j.LastAt != nil {
		t.Errorf("%v", j)
	}
	others, err := a.ListPeriodicJobs(asService(t), &taskqueuev1.ListPeriodicJobsRequest{})
	if err != nil || len(others.GetJobs()) != 0 {
		t.Errorf("another laboratory's list holds %v, %v", others, err)
	}
	for i, want := range []bool{true, false} {
		gone, err := a.DeletePeriodicJob(asService(t), &taskqueuev1.DeletePeriodicJobRequest{Name: "sweep", LabId: &lab})
		if err != nil || gone.GetDeleted() != want {
			t.Errorf("deletion %d: %v, %v", i, gone, err)
		}
	}
}

func TestAWrongPeriodicJobIsRefusedWithEveryField(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	for _, expression := range []string{"", "every day", "@every 5s", "61 * * * *", "0 0 31 2 *", "CRON_TZ=Nowhere/Land 0 * * * *"} {
		_, err := a.PutPeriodicJob(asService(t), &taskqueuev1.PutPeriodicJobRequest{Name: "No Spaces", Cron: expression, Missed: "twice"})
		var fields []string
		refused, _ := apperr.From(err)
		for _, f := range refused.Fields {
			fields = append(fields, f.Name)
		}
		if diff := cmp.Diff([]string{"task", "name", "missed", "cron"}, fields); diff != "" {
			t.Errorf("%q: fields (-want +got):\n%s", expression, diff)
		}
	}
}

func TestPeriodicJobsAreForServicesOnly(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessOpen)
	if _, err := a.PutPeriodicJob(asUser(t, 12), &taskqueuev1.PutPeriodicJobRequest{Name: "n", Cron: "@daily", Task: webhookTask()}); err == nil {
		t.Error("a user put a periodic job")
	}
	if _, err := a.ListPeriodicJobs(t.Context(), &taskqueuev1.ListPeriodicJobsRequest{}); err == nil {
		t.Error("anybody lists periodic jobs")
	}
}
