package notification

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
)

// Zone is the prefix of every topic: it separates deployments that share a push project.
type Zone string

var zonePattern = regexp.MustCompile(`^[A-Za-z0-9-_.~%]{1,16}$`)

// ParseZone returns the zone with that name. It rejects characters that topics must not contain.
func ParseZone(text string) (Zone, error) {
	if !zonePattern.MatchString(text) {
		return "", fmt.Errorf("%q must be 1 to 16 letters, digits or -_.~%%", text)
	}
	return Zone(text), nil
}

// Ref identifies the addressee of a topic.
type Ref struct {
	Kind string // org, lab, user or doctor
	ID   int64
}

// Kinds of addressees.
const (
	RefOrg    = "org"
	RefLab    = "lab"
	RefUser   = "user"
	RefDoctor = "doctor"
)

// Unkeyed in a list of keys stands for names without a keyed part, as version 1.0.0 used them.
const Unkeyed = "unkeyed"

// Names computes the names of push topics. A name has a readable part and a part that cannot be guessed, because an app
// can be subscribed to any topic with a known name. While a key is replaced, a topic has a name per key: devices are
// subscribed to all of them, and a push goes to one (Choose).
type Names struct {
	zone Zone
	keys [][]byte // at least one; the preferred one first
}

// NewNames returns names with the given keys, the preferred one first. Without keys, the names can be guessed.
func NewNames(zone Zone, keys [][]byte) Names {
	if len(keys) == 0 {
		keys = [][]byte{[]byte(Unkeyed)}
	}
	return Names{zone, keys}
}

// Of returns the names of the topic for a type and an addressee, one per key. Devices are subscribed to all of them.
func (n Names) Of(lab authn.LabScope, typeID int64, ref Ref) []string {
	return n.under(lab, n.keys, fmt.Sprintf("%s_notification_type_%d_%s_%d", n.zone, typeID, ref.Kind, ref.ID))
}

// Known returns the names of Of and, if not among them, the name without a keyed part at the end, because devices may
// still be subscribed to it.
func (n Names) Known(lab authn.LabScope, typeID int64, ref Ref) []string {
	names := n.Of(lab, typeID, ref)
	readable, _ := n.readable(names[0])
	return distinct.Of(append(names, readable))
}

// Current returns the present names of the listed topics, whichever key they were named with. Names that are no topics
// of this zone are ignored.
func (n Names) Current(lab authn.LabScope, topics []string) (names []string) {
	for _, topic := range topics {
		if readable, ok := n.readable(topic); ok {
			names = append(names, distinct.Without(n.under(lab, n.keys, readable), names)...)
		}
	}
	return names
}

// Older returns the topics whose name has a previous key, if wanted contains all present names of the same topic.
func (n Names) Older(lab authn.LabScope, topics, wanted []string) []string {
	return slices.DeleteFunc(distinct.Without(topics, wanted), func(topic string) bool {
		current := n.Current(lab, []string{topic})
		return len(current) == 0 || len(distinct.Without(current, wanted)) > 0
	})
}

// under returns the names of a topic under the keys. The keyed part depends on the laboratory, so equal addressee ids
// of two laboratories give different names.
func (Names) under(lab authn.LabScope, keys [][]byte, readable string) (names []string) {
	for _, key := range keys {
		if string(key) == Unkeyed {
			names = append(names, readable)
			continue
		}
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "push topic %d %s", lab.LabID(), readable) // writing to a hash cannot fail
		names = append(names, readable+"_"+hex.EncodeToString(mac.Sum(nil)[:keyedBytes]))
	}
	return names
}

const keyedBytes = 16

var topicPattern = regexp.MustCompile(`^(.+_notification_type_\d+_(?:org|lab|user|doctor)_\d+)(?:_[0-9a-f]{32})?$`)

// readable returns the part of a topic's name that does not depend on the key. It returns false for a name that is no
// topic of this zone.
func (n Names) readable(topic string) (string, bool) {
	parts := topicPattern.FindStringSubmatch(topic)
	if parts == nil || !strings.HasPrefix(topic, string(n.zone)+"_notification_type_") {
		return "", false
	}
	return parts[1], true
}

// Choose returns the names to which a push for an addressee is sent. names are the addressee's names, the preferred one
// first. devices are the topics of each device. Choose returns the first name that all devices with any of the names
// have, so that each device gets the push once. If there is none, it returns enough names to reach all. A device with
// two of them shows the push once, because both messages have the same tag.
func Choose(names []string, devices [][]string) (chosen []string) {
	var waiting [][]string
	for _, has := range devices {
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(has, name) }) {
			waiting = append(waiting, has)
		}
	}
	for _, name := range names {
		if left := lacking(waiting, name); len(left) == 0 {
			return []string{name}
		}
	}
	for _, name := range names {
		if left := lacking(waiting, name); len(left) < len(waiting) {
			chosen, waiting = append(chosen, name), left
		}
	}
	return chosen
}

// lacking returns the devices that do not have the topic.
func lacking(devices [][]string, topic string) (left [][]string) {
	for _, has := range devices {
		if !slices.Contains(has, topic) {
			left = append(left, has)
		}
	}
	return left
}

// RefsOf returns the addressees of a type in a context, by the user category of the type. If the context has no id of
// such an addressee, the laboratory is the addressee. Critical results go to all who can act on them. A context without
// the laboratory may have no addressee.
func RefsOf(k Kind, c Context) []Ref {
	var refs []Ref
	critical := k.ID == CriticalReport
	if c.OrgID > 0 && (critical || k.UserCategory == "org") {
		refs = append(refs, Ref{RefOrg, c.OrgID})
	}
	if c.DoctorID > 0 && (critical || k.UserCategory == "doctor") {
		refs = append(refs, Ref{RefDoctor, c.DoctorID})
	}
	if c.LabUserID > 0 && (k.UserCategory == "lab_user" || k.UserCategory == "user") {
		refs = append(refs, Ref{RefUser, c.LabUserID})
	}
	if !c.WithoutLab && (critical || len(refs) == 0) {
		refs = append(refs, Ref{RefLab, c.LabID})
	}
	return refs
}

// Refs returns the addressees to whose topics a viewer's devices are subscribed.
func (v Viewer) Refs() []Ref {
	switch v.Audience {
	case WholeLab:
		return []Ref{{RefLab, v.Lab.LabID()}, {RefUser, v.ID}}
	case OneOrganization:
		return []Ref{{RefOrg, v.ID}}
	case OneDoctor:
		return []Ref{{RefDoctor, v.ID}}
	default:
		return nil
	}
}
