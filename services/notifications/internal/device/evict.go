package device

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const (
	// MaxDevices is how many devices a login has. A new one is never refused: a person who changes telephones must get
	// critical results on the new one.
	MaxDevices = 20
	// maxEvicted is how many devices one subscription gives up, because each takes calls of the provider. Only a login
	// with many devices of before the limit has more.
	maxEvicted = 5
)

// Evictor gives devices up, as the sweep does.
type Evictor interface {
	// Oldest lists the devices of a login but the token's, without the newest ones that it keeps, the newest first.
	Oldest(ctx context.Context, v notification.Viewer, token string, keep, limit int) ([]Seen, error)
	// Suspect makes the topics of a device pending that was not seen since; false when it was.
	Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error)
	// Retire calls unsubscribe and deletes the device, unless it was seen since: then it returns false.
	Retire(
		ctx context.Context, lab authn.LabScope, token string, before time.Time, unsubscribe func(topics []string) error,
	) (bool, error)
}

// Seen is a device and when it subscribed last.
type Seen struct {
	Token string
	At    time.Time
}

// Observer counts devices that are given up, by outcome.
type Observer interface {
	Evicted(outcome Eviction)
}

// Eviction is the outcome of giving a device up.
type Eviction string

// The outcomes.
const (
	Evicted  Eviction = "evicted"
	Returned Eviction = "returned" // it subscribed again meanwhile
	Failed   Eviction = "failed"   // the next subscription of the login tries again
)

// Evictions lists all outcomes, for metrics.
func Evictions() []Eviction { return []Eviction{Evicted, Returned, Failed} }

// evict gives up the devices of a login that are too many, after token has its topics. It takes the two steps of the
// sweep: a device that returns between them gets all its topics again. A failure leaves the device to the next
// subscription, and the new device is subscribed all the same.
func (d *Devices) evict(ctx context.Context, v notification.Viewer, token string) {
	oldest, err := d.d.Evictor.Oldest(ctx, v, token, MaxDevices-1, maxEvicted)
	if err != nil {
		d.d.Observer.Evicted(Failed)
		return
	}
	for _, one := range oldest {
		before := one.At.Add(time.Millisecond) // the resolution of the column
		gone, err := d.d.Evictor.Suspect(ctx, v.Lab, one.Token, before)
		if err == nil && gone {
			gone, err = d.d.Evictor.Retire(ctx, v.Lab, one.Token, before, func(topics []string) error {
				return d.all(ctx, one.Token, topics, d.d.Topics.Unsubscribe)
			})
		}
		switch {
		case err != nil:
			d.d.Observer.Evicted(Failed)
		case gone:
			d.d.Observer.Evicted(Evicted)
		default:
			d.d.Observer.Evicted(Returned)
		}
	}
}
