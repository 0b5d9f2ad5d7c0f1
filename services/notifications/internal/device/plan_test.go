package device

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func TestAPlanBringsTheTopicsInLine(t *testing.T) {
	t.Parallel()
	stored := Lists{Confirmed: []string{"a", "b"}, Pending: []string{"b", "c", "d"}, Generation: 4}
	for name, c := range map[string]struct {
		wanted, stuck, failed []string
		plan, before, after   string
	}{
		"confirmed topics stay": {
			[]string{"a", "b"}, nil, nil, "remove [c d], add []", "{[a b] [] 4}", "{[a b] [] 4}"},
		"pending topics are subscribed again": {
			[]string{"a", "b", "c", "e"}, nil, nil, "remove [d], add [c e]", "{[a b] [c e] 4}", "{[a b c e] [] 4}"},
		"refused topics are pending or missing": {
			[]string{"c", "e"}, []string{"d"}, []string{"e"}, "remove [a b d], add [c e]", "{[] [d c e] 4}",
			"{[c] [d] 4}"},
		"nothing is wanted": {nil, nil, nil, "remove [a b c d], add []", "{[] [] 4}", "{[] [] 4}"},
	} {
		p := planOf(stored, c.wanted)
		before, _ := p.removed(c.stuck)
		after, _ := p.added(c.stuck, c.failed)
		got := []string{fmt.Sprintf("remove %v, add %v", p.remove, p.add), fmt.Sprint(before), fmt.Sprint(after)}
		if want := []string{c.plan, c.before, c.after}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestDevicesGetTheTypesThatTheirLoginHasOn(t *testing.T) {
	t.Parallel()
	kind := func(id int64, mandatory bool, disabled *bool) notification.Preference {
		return notification.Preference{Kind: notification.Kind{ID: id, Mandatory: mandatory}, UserDisabled: disabled}
	}
	lab, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	got := topicsOf(notification.NewNames("IN", nil), notification.OrganizationViewer(lab, 45, "ward"), []notification.Preference{
		kind(3, false, new(false)), kind(4, false, new(true)), kind(1, false, nil), kind(2, true, new(true)),
	})
	want := []string{"IN_notification_type_1_org_45", "IN_notification_type_2_org_45", "IN_notification_type_3_org_45"}
	if !slices.Equal(got, want) {
		t.Errorf("topics %v, want %v", got, want)
	}
}

// TestAReversalLeavesWhatTheListsHave makes random changes at the provider while the token gets other lists. After the
// reversal, the provider has every confirmed topic, and no topic that is in no list.
func TestAReversalLeavesWhatTheListsHave(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		some := func(name string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, name)
		}
		l := Lists{Confirmed: some("confirmed"), Pending: some("pending")}
		done := Done{Added: some("added"), Removed: some("removed")}
		at := slices.DeleteFunc(slices.Clone(l.Confirmed), func(s string) bool { return slices.Contains(done.Removed, s) })
		at = append(at, done.Added...)
		extra, missing := done.Reverse(l)
		at = slices.DeleteFunc(at, func(s string) bool { return slices.Contains(extra, s) })
		at = append(at, missing...)
		for _, topic := range l.Confirmed {
			if !slices.Contains(at, topic) {
				t.Fatalf("%+v, done %+v: the provider lacks %s, want every confirmed topic", l, done, topic)
			}
		}
		for _, topic := range at {
			if !slices.Contains(l.All(), topic) {
				t.Fatalf("%+v, done %+v: the provider has %s, want only stored topics", l, done, topic)
			}
		}
		if doubt := l.InDoubt(append(extra, missing...)); len(doubt.All()) < len(l.All()) {
			t.Fatalf("%+v in doubt of %v: %+v, want no topic lost", l, append(extra, missing...), doubt)
		}
	})
}
