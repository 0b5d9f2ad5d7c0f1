package device

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const (
	// MaxDevices is the maximum number of devices of a login. A new device is never rejected, because a person with a new
	// telephone must get critical results on it.
	MaxDevices = 20
	// maxEvicted is the maximum number of devices that one subscription evicts, because each needs calls of the provider.
	// Only logins that exceeded the limit before it existed have more.
	maxEvicted = 5
)

// Evictor removes devices in the same steps as the sweep.
type Evictor interface {
	// Oldest returns the devices of a login except its keep newest and the one with the token, the newest first.
	Oldest(ctx context.Context, v notification.Viewer, token string, keep, limit int) ([]Seen, error)
	// Suspect makes the topics of a device pending if it was not seen since before. It returns false if it was.
	Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error)
	// Retire calls unsubscribe and deletes the device. If the device was seen since, it does nothing and returns false.
	Retire(
		ctx context.Context, lab authn.LabScope, token string, before time.Time, unsubscribe func(topics []string) error,
	) (bool, error)
}

// Seen is a device with the time of its last subscription.
type Seen struct {
	Token string
	At    time.Time
}

// Observer counts evicted devices by outcome.
type Observer interface {
	Evicted(outcome Eviction)
}

// Eviction is the outcome of evicting a device.
type Eviction string

// Outcomes of an eviction.
const (
	Evicted  Eviction = "evicted"
	Returned Eviction = "returned" // the device subscribed again before it was deleted
	Failed   Eviction = "failed"   // the next subscription of the login tries again
)

// Evictions returns all outcomes, for metrics.
func Evictions() []Eviction { return []Eviction{Evicted, Returned, Failed} }

// evict removes devices of a login beyond MaxDevices, after token has its topics. It uses the two steps of the sweep,
// so that a device that returns between them gets all its topics again. On a failure, the next subscription tries
// again; the new device stays subscribed.
func (d *Devices) evict(ctx context.Context, v notification.Viewer, token string) {
	oldest, err := d.d.Evictor.Oldest(ctx, v, token, MaxDevices-1, maxEvicted)
	if err != nil {
		d.d.Observer.Evicted(Failed)
		return
	}
	for _, one := range oldest {
		before := one.At.Add(time.Millisecond) // the resolution of the column is one millisecond
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
