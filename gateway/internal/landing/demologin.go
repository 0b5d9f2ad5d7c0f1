// Package landing serves the first page of a demo platform: it offers persons to sign in as and links to every page. A
// production platform has the login of its laboratory and shows no such page.
package landing

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/labplatform/labplatform/pkg/config"
)

// Demo is the content of the page. GATEWAY_DEMO_SIGN_IN names its file: JSON with these fields in lower case.
type Demo struct {
	People []Person
	Links  []Link // pages outside the gateway
}

// Person is a demo user whom any visitor may sign in as.
type Person struct {
	Session config.Secret // a session id that exists in the platform
	ID      int64         // id of the laboratory user; 0 for other roles
	Name    string
	Role    string // shown beside the name
}

// Link is a page outside the gateway.
type Link struct {
	URL, Title, Text string
	Counter          *Counter // shown as a live number; nil: none
}

// Counter is the sum of one metric's series.
type Counter struct {
	Metrics string // URL of the metrics, in Prometheus text format
	Name    string // name of the metric
	Unit    string // such as "jobs"
}

// Read parses the demo file at path. It returns an error unless the file has people, each with a session and a name.
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

// person returns the person whose session has this id, or nil.
func (d *Demo) person(session string) *Person {
	return d.first(func(p Person) bool { return p.Session.Reveal() == session })
}

func (d *Demo) named(name string) *Person {
	return d.first(func(p Person) bool { return p.Name == name })
}

func (d *Demo) first(is func(Person) bool) *Person {
	if i := slices.IndexFunc(d.People, is); i >= 0 {
		return &d.People[i]
	}
	return nil
}
