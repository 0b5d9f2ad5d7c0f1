package notification

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzAStoredContextReadsAsItWasSent checks that the stored form of a context is parsed to the same context, and that
// an escalation has no addressee except the laboratory.
func FuzzAStoredContextReadsAsItWasSent(f *testing.F) {
	f.Add([]byte(`{"lab_id":12,"org_id":"45","lrr_id":7001,"title":"t"}`))
	f.Add([]byte(` {"lab_id":12, "lab_id":"13", "escalation":2, "org_id":45, "doctor_id":3} `))
	f.Add([]byte(`{"lab_id":1e2}`))
	f.Add([]byte(`{"lab_id":9223372036854775807,"corrected":true,"body":"\ud800"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseContext(raw)
		if err != nil {
			return
		}
		if again, err := ParseContext(c.Raw); err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%q: sent %+v, stored %+v, %v; want the same", raw, c, again, err)
		}
		var shown map[string]json.RawMessage
		if err := json.Unmarshal(c.Data(), &shown); err != nil {
			t.Errorf("%q: data %q, want a JSON object", raw, c.Data())
		}
		hidden := []string{"title", "body"}
		if c.Escalation > 0 {
			hidden = append(hidden, "org_id", "doctor_id")
		}
		for _, name := range hidden {
			if _, is := shown[name]; is {
				t.Errorf("%q: the data has %s, want it hidden", raw, name)
			}
		}
		if a := c.Addressed(); c.LabID <= 0 || c.Escalation > 0 && (a.OrgID != 0 || a.DoctorID != 0) {
			t.Errorf("%q is for %+v, want a laboratory and no other addressee of an escalation", raw, a)
		}
	})
}
