package callout

import (
	"fmt"
	"slices"
	"time"
)

// pinNotice adds the notice of a wait that a process of version 1.0.0 began, during an upgrade or after a rollback:
// that version has no ledger. This version begins no wait without a statement about each of its values.
func (x *decider) pinNotice() {
	if x.f.Wait == nil {
		return
	}
	values := slices.DeleteFunc(slices.Clone(x.f.Wait.Parameters), func(p Parameter) bool {
		return x.ledger.last(p.Key()) != nil
	})
	if len(values) > 0 {
		x.say(Statement{Kind: Notice, Parameters: values, Audience: x.f.Audience, SaidAt: x.f.Wait.DetectedAt})
	}
}

// pinForeign adds callouts of other programs to the ledger. A row that is newer than the values counts as a call of the
// present values, whatever its JSON, unless it states that values were wrong.
func (x *decider) pinForeign() {
	for i := range x.f.Foreign {
		row := &x.f.Foreign[i]
		s := Statement{
			Key: fmt.Sprintf("callout:%d", row.ID), Kind: Call, CalloutID: row.ID, PatientID: row.PatientID,
			Audience: row.Audience, Heard: true, ReadBack: row.ReadBack, SaidAt: row.CreatedAt, Parameters: row.Parameters,
		}
		// Other programs may store whole seconds, so one second of difference is tolerated.
		newer := !row.CreatedAt.Add(time.Second).Before(x.f.ValuesAt)
		if shown := x.f.Finding.Shown(x.f.Wait); newer && len(shown) > 0 {
			s.Parameters = shown
		} else if !row.Readable {
			x.d.Unreadable = append(x.d.Unreadable, row.ID)
		}
		if row.Corrected {
			s.Kind, s.Heard, s.Parameters = CorrectionCalled, false, row.Parameters
		}
		if s.Audience.OrgID == 0 && s.Audience.DoctorID == 0 {
			s.Audience.OrgID, s.Audience.DoctorID = x.f.Audience.OrgID, x.f.Audience.DoctorID
		}
		x.say(s)
	}
}
