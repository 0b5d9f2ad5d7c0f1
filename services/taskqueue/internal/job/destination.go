package job

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Destination is what a group of parked jobs waits for: a laboratory's requests to one class of path at a receiver, a
// receiver as a whole, one or all providers of a channel, or a rate limit.
type Destination string

const (
	toReceiver = "to:"
	viaWhom    = "via:"
	atRate     = "rate:"
	outOf      = "out:"
)

// ToReceiver returns the destination for requests of all laboratories to a receiver, given by its origin.
func ToReceiver(origin string) Destination { return Destination(toReceiver + origin) }

// ToPath returns the destination for a laboratory's requests to one class of path at a receiver. It contains a hash of
// the path, because a path may contain names of persons.
func ToPath(lab int64, origin, class string) Destination {
	h := fnv.New32a()
	_, _ = h.Write([]byte(class))
	return Destination(fmt.Sprintf("%s%d %s %08x", toReceiver, lab, origin, h.Sum32()))
}

// Path returns the laboratory and the origin of a destination created by ToPath; ok is false for others.
func (d Destination) Path() (lab int64, origin string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(string(d), toReceiver), " ")
	if !strings.HasPrefix(string(d), toReceiver) || len(parts) != 3 {
		return 0, "", false
	}
	lab, err := strconv.ParseInt(parts[0], 10, 64)
	return lab, parts[1], err == nil
}

// ViaAny returns the destination for messages that any provider of a channel may send.
func ViaAny(c Channel) Destination { return Destination(viaWhom + c.String()) }

// Via returns the destination for messages of one provider of a channel.
func Via(c Channel, provider string) Destination { return ViaAny(c) + Destination(":"+provider) }

// Out returns the destination for jobs whose provider is misconfigured. They wait until an operator corrects its row.
func Out(c Channel, provider string) Destination {
	return Destination(outOf + c.String() + ":" + provider)
}

// IsOut reports whether d was created by Out.
func (d Destination) IsOut() bool { return strings.HasPrefix(string(d), outOf) }

// Provider returns the channel and the provider of a destination created by Via.
func (d Destination) Provider() (channel, provider string, ok bool) {
	if text, is := strings.CutPrefix(string(d), viaWhom); is {
		return strings.Cut(text, ":")
	}
	return "", "", false
}

// AtRate returns the destination for deliveries under a rate limit, which key identifies.
func AtRate(perSecond float64, key string) Destination {
	return Destination(atRate + strconv.FormatFloat(perSecond, 'g', -1, 64) + " " + key)
}

// Rate returns the rate of a destination created by AtRate; ok is false for others.
func (d Destination) Rate() (perSecond float64, ok bool) {
	text, is := strings.CutPrefix(string(d), atRate)
	text, _, _ = strings.Cut(text, " ")
	perSecond, err := strconv.ParseFloat(text, 64)
	return perSecond, is && err == nil
}

// Waits reports whether a pause of other also stops the jobs that wait for d: other is d itself or one of its
// providers.
func (d Destination) Waits(other Destination) bool {
	return d == other || strings.HasPrefix(string(other), string(d)+":") && strings.HasPrefix(string(d), viaWhom)
}
