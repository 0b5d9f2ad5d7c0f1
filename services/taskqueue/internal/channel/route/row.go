// Package route owns the choice among the providers of a channel: which of the configured ones may send a
// message, in what order they are tried, when the next one follows, and which one is paused.
//
// The next provider follows after retryable failures and after permanent ones that are the provider's own;
// never after doubt, and never when the message itself cannot be sent.
package route

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Row is one row of table tq_provider.
type Row struct {
	ID          int64
	Channel     string
	TaskType    int    // 0: every sub-type
	CountryCode int    // 0: every country
	Provider    string // the name that config.provider may hold
	Position    int    // fail-over order
	Settings    json.RawMessage
	Disabled    bool
}

// target is what rows are matched against.
type target struct {
	taskType int
	country  int    // calling code of the recipient; 0 for channels without telephone numbers
	forced   string // config.provider
}

// RowState is a row and why it is out; "" when it is in force.
type RowState struct {
	Row
	Out string
}

// rule is a row with its provider.
type rule struct {
	row     Row
	account *account // nil: the row is out
}

func (r *rule) matches(t target) bool {
	if r.row.TaskType != 0 && r.row.TaskType != t.taskType {
		return false
	}
	return r.row.CountryCode == 0 || r.row.CountryCode == t.country
}

// order sorts by position; at the same position a row that names a country comes first, then one that names a sub-type.
func order(a, b *rule) int {
	return cmp.Or(cmp.Compare(a.row.Position, b.row.Position),
		cmp.Compare(min(b.row.CountryCode, 1), min(a.row.CountryCode, 1)),
		cmp.Compare(min(b.row.TaskType, 1), min(a.row.TaskType, 1)), cmp.Compare(a.row.ID, b.row.ID))
}

// table is one state of the configuration, in the order in which providers are tried; it never changes. A channel whose
// rows are all disabled is in it, without rules.
type table map[job.Channel][]*rule

// named returns the provider of that name, nil when there is none.
func (t table) named(c job.Channel, name string) *account {
	for _, r := range t[c] {
		if r.account != nil && r.account.name == name {
			return r.account
		}
	}
	return nil
}

// choose lists the providers for a message in the order in which they are tried, each once, and names the first that
// would serve it and whose row is out.
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

// serves reports whether a provider is in force that sends tasks of a sub-type (0: any), and whether one would whose
// row is out.
func (t table) serves(c job.Channel, taskType int) (served, out bool) {
	for _, r := range t[c] {
		if taskType != 0 && r.row.TaskType != 0 && r.row.TaskType != taskType {
			continue
		}
		served, out = served || r.account != nil, out || r.account == nil
	}
	return served, out
}

// without lists the channels for which t has no provider.
func (t table) without() []string {
	var list []string
	for _, c := range Channels() {
		if served, out := t.serves(c, 0); !served && !out {
			list = append(list, c.String())
		}
	}
	return list
}

// same reports whether two settings mean the same, whatever their spelling.
func same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Channels lists the channels that have providers.
func Channels() []job.Channel { return []job.Channel{job.SMS, job.Email, job.Push, job.WhatsApp} }

func channelOf(name string) (job.Channel, error) {
	for _, c := range Channels() {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("channel %q has no providers: use sms, email, push or whatsapp", name)
}
