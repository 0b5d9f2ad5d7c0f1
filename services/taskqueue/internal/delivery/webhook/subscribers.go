package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/copied"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
)

// Subscriber is one secret of a receiver: a row of table tq_webhook_secret. During a rotation, a receiver has several.
type Subscriber struct {
	LabID  int64  `json:"lab_id,omitempty"` // 0: jobs of any laboratory
	Origin string `json:"origin"`           // such as https://api.example.com
	Secret string `json:"secret"`           // name of the file with the secret
}

// SubscriberSource reads the current rows, the newest first.
type SubscriberSource interface {
	Subscribers(ctx context.Context) ([]Subscriber, error)
}

type receiver struct {
	lab    int64
	origin string
}

// Subscribers holds the signers of receivers with their own secrets. It is safe for concurrent use, except RunOnce.
type Subscribers struct {
	copied.Rows[Subscriber]
	secrets provider.Directory
	signers atomic.Pointer[map[receiver]*Signer]
}

// NewSubscribers returns a set that is empty until RunOnce.
func NewSubscribers(source SubscriberSource, secrets provider.Directory, copies copied.Copies) *Subscribers {
	s := &Subscribers{secrets: secrets}
	s.Rows = copied.Rows[Subscriber]{Name: "webhook secrets", Key: "tq:subscribers", Copies: copies,
		Read: source.Subscribers, Use: s.use}
	return s
}

// use reads the secrets of the rows. If a secret cannot be read, its receiver keeps the previous ones. A receiver
// without any secret gets none of its jobs, because jobs signed with another secret would fail permanently.
func (s *Subscribers) use(rows []Subscriber) error {
	next := map[receiver]*Signer{}
	var unreadable []receiver
	var problems []error
	for _, row := range rows {
		origin, err := netguard.ParseOrigin(row.Origin)
		who := receiver{row.LabID, origin}
		if err == nil {
			if err = s.add(next, who, row.Secret); err != nil {
				unreadable = append(unreadable, who)
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("tq_webhook_secret of %s, secret %s: %w", row.Origin, row.Secret, err))
		}
	}
	for _, who := range unreadable {
		next[who] = cmp.Or(s.known()[who], &Signer{})
	}
	s.signers.Store(&next)
	return errors.Join(problems...)
}

func (s *Subscribers) add(to map[receiver]*Signer, who receiver, name string) error {
	text, err := s.secrets.Secret(name)
	if err != nil {
		return err
	}
	one, err := NewSigner(text.Reveal())
	if err != nil {
		return err
	}
	if earlier := to[who]; earlier != nil {
		one.keys = append(earlier.keys, one.keys...)
	}
	to[who] = one
	return nil
}

// of returns the signer of a receiver, preferably the laboratory's own; nil if it has none. isOwn is true for the
// laboratory's own.
func (s *Subscribers) of(lab int64, origin string) (signer *Signer, isOwn bool) {
	known := s.known()
	if own := known[receiver{lab, origin}]; own != nil {
		return own, lab != 0
	}
	return known[receiver{0, origin}], false
}

func (s *Subscribers) known() map[receiver]*Signer {
	if s == nil || s.signers.Load() == nil {
		return nil
	}
	return *s.signers.Load()
}
