// Package sender owns which senders the tasks of a laboratory may name: from-addresses of mails, sender ids of SMS,
// numbers of WhatsApp by the name of their provider.
package sender

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/copied"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Rule is a row of table tq_sender: one sender that may be named.
type Rule struct {
	LabID   int64  `json:"lab_id,omitempty"` // 0: of every laboratory
	Channel string `json:"channel"`
	Sender  string `json:"sender"` // of mails an address, or @example.com for all of a domain
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
	rules atomic.Pointer[map[owner][]string]
}

// New makes a set that knows no rules until RunOnce.
func New(source Source, copies redis.UniversalClient) *Senders {
	s := &Senders{}
	s.Rows = copied.Rows[Rule]{Name: "senders", Key: "tq:senders", Client: copies, Read: source.Senders, Use: s.use}
	return s
}

func (s *Senders) use(rows []Rule) error {
	next := map[owner][]string{}
	for _, row := range rows {
		key := owner{row.LabID, row.Channel}
		next[key] = append(next[key], strings.ToLower(row.Sender))
	}
	s.rules.Store(&next)
	return nil
}

// Known reports whether rules were read, perhaps none.
func (s *Senders) Known() bool { return s.rules.Load() != nil }

// Allows reports whether a laboratory's task may name a sender. Without a rule for the laboratory or for all of them it
// may name any; so it may while no rules are known, when it is asked again before the message is sent.
func (s *Senders) Allows(c job.Channel, lab int64, name string) bool {
	known := s.rules.Load()
	if known == nil {
		return true
	}
	list := slices.Concat((*known)[owner{lab, c.String()}], (*known)[owner{0, c.String()}])
	name = strings.ToLower(name)
	return len(list) == 0 || slices.ContainsFunc(list, func(allowed string) bool {
		return allowed == name || strings.HasPrefix(allowed, "@") && strings.HasSuffix(name, allowed)
	})
}
