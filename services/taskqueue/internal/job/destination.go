package job

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Destination is where deliveries go as far as they wait together: a laboratory's requests to one kind of path of a
// receiver, a receiver as a whole, the providers of a channel or one of them, and what has a rate.
type Destination string

const (
	toReceiver = "to:"
	viaWhom    = "via:"
	atRate     = "rate:"
	outOf      = "out:"
)

// ToReceiver is a receiver by its origin, whichever laboratory sends.
func ToReceiver(origin string) Destination { return Destination(toReceiver + origin) }

// ToPath is one kind of path at a receiver as one laboratory uses it. The path is not told: it may name people.
func ToPath(lab int64, origin, class string) Destination {
	h := fnv.New32a()
	_, _ = h.Write([]byte(class))
	return Destination(fmt.Sprintf("%s%d %s %08x", toReceiver, lab, origin, h.Sum32()))
}

// Path reads what ToPath made.
func (d Destination) Path() (lab int64, origin string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(string(d), toReceiver), " ")
	if !strings.HasPrefix(string(d), toReceiver) || len(parts) != 3 {
		return 0, "", false
	}
	lab, err := strconv.ParseInt(parts[0], 10, 64)
	return lab, parts[1], err == nil
}

// ViaAny is whichever provider of a channel serves a message.
func ViaAny(c Channel) Destination { return Destination(viaWhom + c.String()) }

// Via is one provider of a channel.
func Via(c Channel, provider string) Destination { return ViaAny(c) + Destination(":"+provider) }

// Out is a provider whose row is wrong: what waits for it waits for a person.
func Out(c Channel, provider string) Destination {
	return Destination(outOf + c.String() + ":" + provider)
}

// IsOut reports whether Out made it.
func (d Destination) IsOut() bool { return strings.HasPrefix(string(d), outOf) }

// Provider reads what Via made.
func (d Destination) Provider() (channel, provider string, ok bool) {
	if text, is := strings.CutPrefix(string(d), viaWhom); is {
		return strings.Cut(text, ":")
	}
	return "", "", false
}

// AtRate is what takes so many deliveries a second.
func AtRate(perSecond float64, key string) Destination {
	return Destination(atRate + strconv.FormatFloat(perSecond, 'g', -1, 64) + " " + key)
}

// Rate reads what AtRate made.
func (d Destination) Rate() (perSecond float64, ok bool) {
	text, is := strings.CutPrefix(string(d), atRate)
	text, _, _ = strings.Cut(text, " ")
	perSecond, err := strconv.ParseFloat(text, 64)
	return perSecond, is && err == nil
}

// Waits reports whether what waits for d waits for other too: itself, or one of its providers.
func (d Destination) Waits(other Destination) bool {
	return d == other || strings.HasPrefix(string(other), string(d)+":") && strings.HasPrefix(string(d), viaWhom)
}
