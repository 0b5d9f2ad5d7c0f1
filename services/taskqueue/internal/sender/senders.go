// Package sender owns which senders the tasks of a laboratory may name: from-addresses of mails, sender ids of SMS,
// numbers of WhatsApp by the name of their provider.
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

// Rule is a row of table tq_sender: one sender that may be named.
type Rule struct {
	LabID   int64  `json:"lab_id,omitempty"` // 0: of every laboratory
	Channel string `json:"channel"`
	Sender  string `json:"sender"` // of mails an address, @example.com for all of a domain, or a display name
	// Several is set in a rule of its own when the installation has more than one laboratory: then a laboratory may name
	// only senders that a rule assigns to it.
	Several bool `json:"several,omitempty"`
}

// Source reads the rows in force.
type Source interface {
	Senders(ctx context.Context) ([]Rule, error)
}

type owner struct {
	lab     int64
	channel string
}

// Senders are the rules in force. Safe for concurrent use, RunOnce in one loop.
type Senders struct {
	copied.Rows[Rule]
	rules atomic.Pointer[ruleSet]
}

type ruleSet struct {
	senders map[owner][]string
	several bool
}

// New makes a set that knows no rules until RunOnce.
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

// Known reports whether rules were read, perhaps none.
func (s *Senders) Known() bool { return s.rules.Load() != nil }

// Allows reports whether a laboratory's task may name a sender. With one laboratory in the installation and no rule for
// it any sender may be named, and any display name. While no rules are known every name is allowed; it is checked again
// before the message is sent.
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
