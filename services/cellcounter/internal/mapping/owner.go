package mapping

import "github.com/labplatform/labplatform/pkg/authn"

// Owner is the owner of mappings: one laboratory, or all laboratories, which share the defaults. The zero Owner is none
// of them, so that a laboratory id that was never set cannot select the defaults.
type Owner struct {
	lab      authn.LabScope
	defaults bool
}

// Of returns the laboratory of a scope as an owner.
func Of(lab authn.LabScope) Owner { return Owner{lab: lab} }

// Defaults returns the owner of the default mappings.
func Defaults() Owner { return Owner{defaults: true} }

// LabID returns the value of the column lab_scope: the laboratory's id, or 0 for the defaults.
func (o Owner) LabID() int64 { return o.lab.LabID() }

// AreDefaults reports whether o owns the defaults.
func (o Owner) AreDefaults() bool { return o.defaults }

// IsNone reports whether o is the zero Owner.
func (o Owner) IsNone() bool { return !o.defaults && o.lab.LabID() == 0 }
