// Package route selects providers of a channel: which ones may send a message, in what order, when the next one is
// tried, and which ones are paused.
//
// The next provider is tried if a provider is paused, after retryable failures, and after permanent ones caused by the
// provider. It is not tried if the outcome is unknown or the message itself cannot be sent.
package route

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Row is a row of table tq_provider.
type Row struct {
	ID          int64
	Channel     string
	TaskType    int    // 0: all sub-types
	CountryCode int    // 0: all countries
	Provider    string // name used in config.provider of tasks
	Position    int    // failover order, lowest first
	Settings    json.RawMessage
	Disabled    bool
}

// target holds the properties of a message used to match rows.
type target struct {
	taskType int
	country  int    // calling code of the recipient; 0 for channels without phone numbers
	forced   string // provider named in config.provider of the task
}

// RowState is a row, and the reason why it is invalid or an empty string.
type RowState struct {
	Row
	Out string
}

// rule is a row and its provider.
type rule struct {
	row     Row
	account *account // nil: the row is invalid and not in use
}

func (r *rule) matches(t target) bool {
	if r.row.TaskType != 0 && r.row.TaskType != t.taskType {
		return false
	}
	return r.row.CountryCode == 0 || r.row.CountryCode == t.country
}

// order compares rules by position. At the same position, a row with a country precedes others, then one with a
// sub-type.
func order(a, b *rule) int {
	return cmp.Or(cmp.Compare(a.row.Position, b.row.Position),
		cmp.Compare(min(b.row.CountryCode, 1), min(a.row.CountryCode, 1)),
		cmp.Compare(min(b.row.TaskType, 1), min(a.row.TaskType, 1)), cmp.Compare(a.row.ID, b.row.ID))
}

// table is one version of the configuration, in the order in which providers are tried. It is immutable. A channel
// whose rows are all disabled has an entry without rules.
type table map[job.Channel][]*rule

// named returns the provider with that name, or nil.
func (t table) named(c job.Channel, name string) *account {
	for _, r := range t[c] {
		if r.account != nil && r.account.name == name {
			return r.account
		}
	}
	return nil
}

// choose returns the providers for a message in the order in which they are tried, without duplicates. It also returns
// the first provider that would serve the message but has an invalid row.
func (t table) choose(c job.Channel, to target) (list []*account, out string) {
	for _, r := range t[c] {
		serves := r.matches(to)
		if to.forced != "" {
			serves = r.row.Provider == to.forced
		}
		switch {
		case !serves:
		case r.account == nil:
			out = cmp.Or(out, r.row.Provider, unnamed)
		case !slices.Contains(list, r.account):
			list = append(list, r.account)
		}
	}
	return list, out
}

// serves reports whether a provider in use serves tasks of a sub-type (0: any), and whether an invalid row would.
func (t table) serves(c job.Channel, taskType int) (served, out bool) {
	for _, r := range t[c] {
		if taskType != 0 && r.row.TaskType != 0 && r.row.TaskType != taskType {
			continue
		}
		served, out = served || r.account != nil, out || r.account == nil
	}
	return served, out
}

// without returns the channels without a provider, in use or invalid.
func (t table) without() []string {
	var list []string
	for _, c := range Channels() {
		if served, out := t.serves(c, 0); !served && !out {
			list = append(list, c.String())
		}
	}
	return list
}

// same reports whether two settings are equal as JSON.
func same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Channels returns the channels that have providers.
func Channels() []job.Channel { return []job.Channel{job.SMS, job.Email, job.Push, job.WhatsApp} }

func channelOf(name string) (job.Channel, error) {
	for _, c := range Channels() {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("channel %q has no providers: use sms, email, push or whatsapp", name)
}
