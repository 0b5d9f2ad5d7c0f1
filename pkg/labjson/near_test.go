package labjson_test

import (
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/labjson"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

func TestANameThatResemblesAFieldIsToldFromAnotherName(t *testing.T) {
	t.Parallel()
	known := []string{"is_calculate", "test_ids", "lab_id", "id", "to", "sch_time", "isBody", "countryCode"}
	for name, want := range map[string]string{
		"is_calculate": "", "isCalculate": "is_calculate", "IS-CALCULATE": "is_calculate", "is_calculte": "is_calculate",
		"is_claculate": "is_calculate", "is_calculates": "is_calculate", "test_id": "test_ids", "labId": "lab_id", "labid": "lab_id",
		"ids": "", "ID": "id", "too": "", "schTime": "sch_time", "schedule_time": "", "isbody": "isBody", "country_code": "countryCode",
		"country": "", "note": "", "": "", "_": "", "лаb_id": "",
	} {
		if got := labjson.Near(name, known); got != want {
			t.Errorf("Near(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestAMisspeltFieldIsRefusedWithTheRightOne(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"Tasks":[]}`:                           "Tasks is not a field; it is written tasks",
		`{"tasks":[{"task":1,"retri":2}]}`:       "tasks[0].retri is not a field; it is written retry",
		`{"tasks":[{"task":1,"some_other":{}}]}`: "tasks[0].some_other is not a field here; leave it out",
		`{"some_other":1,"tasks":[{"task":1}]}`:  "", // the list of tasks is strict, the enclosing message is not
	} {
		err := labjson.Unmarshal([]byte(body), &taskqueuev1.EnqueueRequest{})
		var wrong *labjson.TypeError
		if (err != nil) != (want != "") || err != nil && (!errors.As(err, &wrong) || err.Error() != want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
