package mapping

import "github.com/labplatform/labplatform/pkg/authn"

// Owner is the owner of mappings: a laboratory, or all laboratories, which share the defaults. The zero Owner is
// neither, so that a laboratory that was not looked up never stands for the defaults.
type Owner struct {
	lab      authn.LabScope
	defaults bool
}

// Of is the laboratory.
func Of(lab authn.LabScope) Owner { return Owner{lab: lab} }

// Defaults is what laboratories without mappings of their own get.
func Defaults() Owner { return Owner{defaults: true} }

// LabID is the laboratory's id, 0 for the defaults: what rows have in lab_scope.
func (o Owner) LabID() int64 { return o.lab.LabID() }

// AreDefaults reports whether it is the defaults.
func (o Owner) AreDefaults() bool { return o.defaults }

// IsNone reports whether it is neither.
func (o Owner) IsNone() bool { return !o.defaults && o.lab.LabID() == 0 }
