package webhook

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// TestALaboratorysRequestPassesForNobodyElses: a laboratory can send any request to a receiver of another one. Its
// signature must not verify as that of the platform or the other laboratory, whether the receiver's secret is global or
// its own.
func TestALaboratorysRequestPassesForNobodyElses(t *testing.T) {
	t.Parallel()
	const plain, listed, agreed = "https://plain.example.com", "https://listed.example.com", "https://agreed.example.com"
	table := &rows{list: []Subscriber{{Origin: listed, Secret: "listed"}, {LabID: 12, Origin: agreed, Secret: "agreed"}}}
	known := NewSubscribers(table, provider.Directory{Root: fstest.MapFS{"listed": file(whsec("l")), "agreed": file(whsec("a"))}}, cache(t))
	if err := known.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	global := func(secret string) *Signer {
		s, err := NewSigner(secret)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := New(Config{Webhooks: global(whsec("g")), Callbacks: global(whsec("c")), Subscribers: known, Clock: clock.System{}})
	ids := job.NewGenerator(clock.System{})
	of := func(secret string, lab int64) string { return global(secret).ForLaboratory(lab).Verifiers()[0] }
	secrets := map[string]string{"global": whsec("g"), "callbacks": whsec("c"), "listed": whsec("l"), "agreed": whsec("a"),
		"global of 12": of(whsec("g"), 12), "global of 13": of(whsec("g"), 13), "listed of 12": of(whsec("l"), 12)}
	for _, c := range []struct {
		who, origin, want string
		channel           job.Channel
		body              job.Body
	}{
		{"a laboratory", plain, "global of 12", job.Webhook, job.Body{LabID: 12}},
		{"another one", plain, "global of 13", job.Webhook, job.Body{LabID: 13}},
		{"a service for a laboratory", plain, "global", job.Webhook, job.Body{LabID: 12, Internal: true}},
		{"a result", plain, "callbacks", job.Callback, job.Body{LabID: 12}},
		{"a laboratory, to a receiver with a row", listed, "listed of 12", job.Webhook, job.Body{LabID: 12}},
		{"a service, to that receiver", listed, "listed", job.Webhook, job.Body{Internal: true}},
		{"a laboratory, to the receiver it agreed with", agreed, "agreed", job.Webhook, job.Body{LabID: 12}},
		{"its result, to that receiver", agreed, "agreed", job.Callback, job.Body{LabID: 12}},
		{"a service for it, to that receiver", agreed, "agreed", job.Webhook, job.Body{LabID: 12, Internal: true}},
		{"another one's result, to that receiver", agreed, "callbacks", job.Callback, job.Body{LabID: 13}},
		{"another one, to that receiver", agreed, "global of 13", job.Webhook, job.Body{LabID: 13}},
	} {
		address, err := url.Parse(c.origin + "/hook")
		if err != nil {
			t.Fatal(err)
		}
		q := netguard.Request{URL: address, Header: map[string][]string{}, Body: []byte(`{"a":1}`)}
		id := ids.Next(0, job.Lane{Channel: c.channel, Priority: job.Moderate})
		if err := s.sign(&q, worker.Delivery{ID: id, Body: &c.body}); err != nil {
			t.Fatal(err)
		}
		var took []string
		for name, secret := range secrets {
			if accepts(t, secret, q.Header) {
				took = append(took, name)
			}
		}
		if !slices.Equal(took, []string{c.want}) {
			t.Errorf("%s: signed with %s, want %s", c.who, strings.Join(took, ", "), c.want)
		}
	}
}
