package device

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// topicsOf returns the topics of a login's devices: of each type that the login has on, those of its addressees.
func topicsOf(names notification.Names, v notification.Viewer, preferences []notification.Preference) []string {
	var topics []string
	for _, p := range preferences {
		if p.Effective() {
			continue
		}
		for _, ref := range v.Refs() {
			topics = append(topics, names.Of(v.Lab, p.ID, ref)...)
		}
	}
	slices.Sort(topics)
	return topics
}

// plan is what brings the topics of a token in line: the provider first removes, then adds.
type plan struct {
	stored      Lists
	kept        []string // confirmed and wanted
	remove, add []string
}

// planOf removes every topic that is not wanted and adds every wanted one that is not confirmed.
func planOf(stored Lists, wanted []string) plan {
	remove := distinct.Without(stored.All(), wanted)
	return plan{
		stored: stored, kept: distinct.Without(stored.Confirmed, remove), remove: remove,
		add: distinct.Without(wanted, stored.Confirmed),
	}
}

// removed returns the lists to store before the provider adds topics, and what it has done so far. The provider refused
// to remove the stuck topics.
func (p plan) removed(stuck []string) (Lists, Done) {
	pending := append(slices.Clone(stuck), p.add...)
	return Lists{Confirmed: p.kept, Pending: pending, Generation: p.stored.Generation},
		Done{Removed: distinct.Without(p.remove, stuck)}
}

// added returns the lists to store in the end, and all that the provider has done. It refused to add the failed topics.
func (p plan) added(stuck, failed []string) (Lists, Done) {
	_, done := p.removed(stuck)
	done.Added = distinct.Without(p.add, failed)
	confirmed := append(slices.Clone(p.kept), done.Added...)
	slices.Sort(confirmed)
	return Lists{Confirmed: confirmed, Pending: stuck, Generation: p.stored.Generation}, done
}
