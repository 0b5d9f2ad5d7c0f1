// Package route owns the choice among the providers of a channel: which of the configured ones may send a
// message, in what order they are tried, when the next one takes over, and which one is left alone for a while.
//
// The next provider takes over after retryable failures and after permanent ones that are the provider's own;
// never after doubt, and never when the message itself cannot be sent.
package route

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
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
	taskType        int
	country, number string // digits; "" for channels without telephone numbers
	forced          string // config.provider
}

// rule is a row whose provider is built.
type rule struct {
	row      Row
	provider *account
}

func (r *rule) matches(t target) bool {
	if r.row.TaskType != 0 && r.row.TaskType != t.taskType {
		return false
	}
	return r.row.CountryCode == 0 || phone.InCountry(strconv.Itoa(r.row.CountryCode), t.country, t.number)
}

// order sorts by position; at the same position the more specific row comes first.
func order(a, b *rule) int {
	return cmp.Or(cmp.Compare(a.row.Position, b.row.Position), cmp.Compare(b.row.specific(), a.row.specific()),
		cmp.Compare(a.row.ID, b.row.ID))
}

func (r *Row) specific() int {
	n := 0
	if r.CountryCode != 0 {
		n += 2
	}
	if r.TaskType != 0 {
		n++
	}
	return n
}

// table is one state of the configuration; it never changes.
type table struct {
	rules      map[job.Channel][]*rule
	providers  map[job.Channel]map[string]*account
	configured map[job.Channel]bool // there is a row, enabled or not: the fallback does not step in
}

// choose lists the providers for t in the order in which they are tried, each once.
func (t *table) choose(c job.Channel, to target) []*account {
	if to.forced != "" {
		if p := t.providers[c][to.forced]; p != nil {
			return []*account{p}
		}
		return nil
	}
	var list []*account
	for _, r := range t.rules[c] {
		if r.matches(to) && !slices.Contains(list, r.provider) {
			list = append(list, r.provider)
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
