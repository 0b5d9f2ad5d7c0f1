package notification_test

import (
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

var (
	firstKey  = []byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk")
	secondKey = []byte("nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn")
	unkeyed   = []byte(notification.Unkeyed)
)

func laboratory(t *testing.T, id int64) authn.LabScope {
	t.Helper()
	lab, err := authn.Principal{Kind: authn.Service}.Scope(id)
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

// TestTheNameOfATopicCannotBeGuessed changes each input of a name. Every change gives a different keyed part.
func TestTheNameOfATopicCannotBeGuessed(t *testing.T) {
	t.Parallel()
	lab, other := laboratory(t, 12), laboratory(t, 13)
	org := notification.Ref{Kind: notification.RefOrg, ID: 45}
	names := notification.NewNames("IN", [][]byte{firstKey})
	form := regexp.MustCompile(`^IN_notification_type_2_org_45_([0-9a-f]{32})$`)
	parts := form.FindStringSubmatch(names.Of(lab, 2, org)[0])
	if parts == nil {
		t.Fatalf("name %v, want the form %s", names.Of(lab, 2, org), form)
	}
	keyed := regexp.MustCompile(`[0-9a-f]{32}$`)
	for what, name := range map[string]string{
		"laboratory": names.Of(other, 2, org)[0],
		"type":       names.Of(lab, 1, org)[0],
		"number":     names.Of(lab, 2, notification.Ref{Kind: notification.RefOrg, ID: 46})[0],
		"kind":       names.Of(lab, 2, notification.Ref{Kind: notification.RefLab, ID: 45})[0],
		"zone":       notification.NewNames("EU", [][]byte{firstKey}).Of(lab, 2, org)[0],
		"key":        notification.NewNames("IN", [][]byte{secondKey}).Of(lab, 2, org)[0],
	} {
		if keyed.FindString(name) == parts[1] {
			t.Errorf("another %s: the keyed part is the same, want another one", what)
		}
	}
	if again := notification.NewNames("IN", [][]byte{firstKey}).Of(lab, 2, org); !slices.Equal(again, names.Of(lab, 2, org)) {
		t.Errorf("another process: %v, want the same name", again)
	}
}

func TestATopicHasANameUnderEachKey(t *testing.T) {
	t.Parallel()
	lab, ref := laboratory(t, 12), notification.Ref{Kind: notification.RefLab, ID: 12}
	readable := "IN_notification_type_2_lab_12"
	first := notification.NewNames("IN", [][]byte{firstKey}).Of(lab, 2, ref)[0]
	second := notification.NewNames("IN", [][]byte{secondKey}).Of(lab, 2, ref)[0]
	for name, c := range map[string]struct {
		keys               [][]byte
		of, known, current []string
		older              []string // result of Older for all three names, with the present ones wanted
	}{
		"no key":        {nil, []string{readable}, []string{readable}, []string{readable}, []string{first, second}},
		"one key":       {[][]byte{firstKey}, []string{first}, []string{first, readable}, []string{first}, []string{readable, second}},
		"the upgrade":   {[][]byte{unkeyed, firstKey}, []string{readable, first}, []string{readable, first}, []string{readable, first}, []string{second}},
		"a replacement": {[][]byte{secondKey, firstKey}, []string{second, first}, []string{second, first, readable}, []string{second, first}, []string{readable}},
	} {
		names, all := notification.NewNames("IN", c.keys), []string{readable, first, second, "IN_other", "EU_notification_type_2_lab_12"}
		if got := names.Of(lab, 2, ref); !slices.Equal(got, c.of) {
			t.Errorf("%s: names %v, want %v", name, got, c.of)
		}
		if got := names.Known(lab, 2, ref); !slices.Equal(got, c.known) {
			t.Errorf("%s: known names %v, want %v", name, got, c.known)
		}
		if got := names.Current(lab, all); !slices.Equal(got, c.current) {
			t.Errorf("%s: current names %v, want %v", name, got, c.current)
		}
		if got := names.Older(lab, all, c.of); !slices.Equal(got, c.older) {
			t.Errorf("%s: older names %v, want %v", name, got, c.older)
		}
		if got := names.Older(lab, all, nil); len(got) != 0 {
			t.Errorf("%s: nothing is wanted, and %v are older names; want none", name, got)
		}
	}
}

// TestAPushReachesEveryDevice generates devices. Each device with one of the names gets the push, and exactly once if
// one name would be enough for all.
func TestAPushReachesEveryDevice(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	property.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "x"}), 0, 4, rapid.ID[string])
		devices := rapid.SliceOfN(some, 0, 4).Draw(t, "devices")
		chosen := notification.Choose(names, devices)
		if len(chosen) == 0 || len(chosen) != len(distinct.Of(chosen)) {
			t.Fatalf("chosen %v, want a name, and none twice", chosen)
		}
		common := slices.Clone(names)
		for _, has := range devices {
			if mine := distinct.Without(has, []string{"x"}); len(mine) > 0 {
				common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(mine, name) })
				if len(distinct.Without(mine, chosen)) == len(mine) {
					t.Fatalf("a device with %v gets nothing of %v, want the push", has, chosen)
				}
			}
		}
		if len(common) > 0 && !slices.Equal(chosen, common[:1]) {
			t.Fatalf("chosen %v, want %v alone, which all devices have", chosen, common[0])
		}
	})
}
