// Package door owns the first page of a platform for trying out: who one may be, and what there is to see. A platform
// for real has its laboratory's own log-in, and none of this.
package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/labplatform/labplatform/pkg/config"
)

// Demo is what the page offers, as GATEWAY_DEMO_SIGN_IN names its file: JSON with these fields in lower case.
type Demo struct {
	People []Person
	Links  []Link // to what is not the gateway's
}

// Person is someone who may be signed in with a press of a button.
type Person struct {
	Session config.Secret // that the platform knows
	ID      int64         // of a laboratory's user, else 0
	Name    string
	Role    string // in a few words
}

// Link is a page elsewhere.
type Link struct {
	URL, Title, Text string
	Counter          *Counter // shown as a live number; nil: none
}

// Counter is a number among the metrics of a service.
type Counter struct {
	Metrics string // address of the metrics, in the text format of Prometheus
	Name    string // whose series are added up
	Unit    string // such as "jobs"
}

// Read reads the file of a demo.
func Read(path string) (*Demo, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("GATEWAY_DEMO_SIGN_IN: %w", err)
	}
	var d Demo
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("GATEWAY_DEMO_SIGN_IN: %s: %w", path, err)
	}
	if len(d.People) == 0 ||
		slices.ContainsFunc(d.People, func(p Person) bool { return p.Session == "" || p.Name == "" }) {
		return nil, fmt.Errorf(
			"GATEWAY_DEMO_SIGN_IN: %s: %w",
			path,
			errors.New(`write "people", each with "session", "name" and "role"`),
		)
	}
	return &d, nil
}

// person finds the one of a session; nil when there is none.
func (d *Demo) person(session string) *Person {
	return d.first(func(p Person) bool { return p.Session.Reveal() == session })
}

// named finds one by the name; nil when there is none.
func (d *Demo) named(name string) *Person {
	return d.first(func(p Person) bool { return p.Name == name })
}

func (d *Demo) first(is func(Person) bool) *Person {
	if i := slices.IndexFunc(d.People, is); i >= 0 {
		return &d.People[i]
	}
	return nil
}
