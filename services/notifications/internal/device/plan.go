package device

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// topicsOf returns the topics of a login's devices: for each type that is on for the login, the topics of its
// addressees.
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

// plan holds the changes from the stored to the wanted topics of a token. The provider first removes, then adds.
type plan struct {
	stored      Lists
	kept        []string // confirmed and wanted: not changed
	remove, add []string
}

// planOf returns the plan that removes every topic that is not wanted, and adds every wanted topic that is not
// confirmed.
func planOf(stored Lists, wanted []string) plan {
	remove := distinct.Without(stored.All(), wanted)
	return plan{
		stored: stored, kept: distinct.Without(stored.Confirmed, remove), remove: remove,
		add: distinct.Without(wanted, stored.Confirmed),
	}
}

// removed returns the lists to store before the provider adds topics, and the changes made so far. stuck are topics
// that the provider failed to remove.
func (p plan) removed(stuck []string) (Lists, Done) {
	pending := append(slices.Clone(stuck), p.add...)
	return Lists{Confirmed: p.kept, Pending: pending, Generation: p.stored.Generation},
		Done{Removed: distinct.Without(p.remove, stuck)}
}

// added returns the final lists, and all changes made. failed are topics that the provider failed to add.
func (p plan) added(stuck, failed []string) (Lists, Done) {
	_, done := p.removed(stuck)
	done.Added = distinct.Without(p.add, failed)
	confirmed := append(slices.Clone(p.kept), done.Added...)
	slices.Sort(confirmed)
	return Lists{Confirmed: confirmed, Pending: stuck, Generation: p.stored.Generation}, done
}
