// Package sender decides which senders a laboratory's tasks may use: e-mail addresses, SMS sender ids, and WhatsApp
// numbers by the name of their provider.
package sender

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/labplatform/labplatform/services/taskqueue/internal/copied"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Rule is a row of table tq_sender. It permits one sender.
type Rule struct {
	LabID   int64  `json:"lab_id,omitempty"` // 0: all laboratories
	Channel string `json:"channel"`
	Sender  string `json:"sender"` // for e-mail: an address, @example.com for a whole domain, or a display name
	// Several is set, in a rule without other fields, if the installation has more than one laboratory. A laboratory may
	// then use only senders assigned to it by a rule.
	Several bool `json:"several,omitempty"`
}

// Source reads the current rules.
type Source interface {
	Senders(ctx context.Context) ([]Rule, error)
}

type owner struct {
	lab     int64
	channel string
}

// Senders holds the current rules. It is safe for concurrent use, except RunOnce.
type Senders struct {
	copied.Rows[Rule]
	rules atomic.Pointer[ruleSet]
}

type ruleSet struct {
	senders map[owner][]string
	several bool
}

// New returns Senders without rules; RunOnce reads them.
func New(source Source, copies copied.Copies) *Senders {
	s := &Senders{}
	s.Rows = copied.Rows[Rule]{Name: "senders", Key: "tq:senders", Copies: copies, Read: source.Senders, Use: s.use}
	return s
}

func (s *Senders) use(rows []Rule) error {
	next := ruleSet{senders: map[owner][]string{}}
	for _, row := range rows {
		if row.Several {
			next.several = true
			continue
		}
		key := owner{row.LabID, row.Channel}
		next.senders[key] = append(next.senders[key], strings.ToLower(row.Sender))
	}
	s.rules.Store(&next)
	return nil
}

// Known reports whether the rules have been read, even if there are none.
func (s *Senders) Known() bool { return s.rules.Load() != nil }

// Allows reports whether a laboratory's task may use a sender. In an installation with one laboratory, any display name
// is allowed, and any sender of a channel without rules. While the rules have not been read, everything is allowed; the
// Gate checks again before the message is sent.
func (s *Senders) Allows(c job.Channel, lab int64, named task.Sender) bool {
	known := s.rules.Load()
	if known == nil || named.Display && !known.several {
		return true
	}
	list := slices.Concat(known.senders[owner{lab, c.String()}], known.senders[owner{0, c.String()}])
	name := strings.ToLower(named.Name)
	return len(list) == 0 && !known.several || slices.ContainsFunc(list, func(allowed string) bool {
		return allowed == name || !named.Display && strings.HasPrefix(allowed, "@") && strings.HasSuffix(name, allowed)
	})
}
