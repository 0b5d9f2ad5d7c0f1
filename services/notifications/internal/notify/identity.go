package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// ErrKeyReused is returned if an idempotency key was used for another notification.
var ErrKeyReused = apperr.New(apperr.Conflict, "IDEMPOTENCY_KEY_REUSED",
	"This idempotency key was used for a notification of another type, audience, report or kind; use a new key")

// identity is the content of a trigger that an idempotency key stands for.
type identity struct {
	typeID                     int64
	orgID, doctorID, labUserID int64
	withoutLab                 bool
	subject                    string // report or bill
	escalation                 int64
	corrected                  bool
	unclear, unconfirmed       bool
}

// identityOf returns the identity of a trigger with its final addressees.
func identityOf(typeID int64, c notification.Context) identity {
	return identity{
		typeID: typeID, orgID: c.OrgID, doctorID: c.DoctorID, labUserID: c.LabUserID, withoutLab: c.WithoutLab,
		subject: c.Subject(), escalation: c.Escalation, corrected: c.Corrected,
		unclear: c.Unclear, unconfirmed: c.Unconfirmed,
	}
}

// repeats returns ErrKeyReused unless the first notification with the key has the identity. A stored context that
// cannot be parsed matches none.
func (i identity) repeats(first First) error {
	c, err := notification.ParseContext(first.Context)
	if err != nil || identityOf(first.TypeID, c.Addressed()) != i {
		return ErrKeyReused
	}
	return nil
}

// dedupeKey returns the caller's key as it is stored. Without a key, it returns the identity with the minute, or "" if
// there is no subject.
func (i identity) dedupeKey(labID int64, key string, now time.Time) string {
	switch {
	case key != "":
		return StoredKey(labID, key)
	case i.subject == "":
		return ""
	}
	kind := ""
	if i.unclear || i.unconfirmed {
		kind = fmt.Sprintf(":%t-%t", i.unclear, i.unconfirmed)
	}
	return fmt.Sprintf("about:%d:%d:%s:%d-%d-%d-%t:%d:%t%s:%d", labID, i.typeID, i.subject, i.orgID, i.doctorID, i.labUserID,
		i.withoutLab, i.escalation, i.corrected, kind, now.Unix()/60)
}

// StoredKey returns the deduplication key of an idempotency key. The key is valid within a laboratory.
func StoredKey(labID int64, key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("key:%d:%s", labID, hex.EncodeToString(sum[:]))
}

// CheckKey rejects an empty idempotency key.
func CheckKey(key string) error {
	if strings.TrimSpace(key) == "" {
		return apperr.InvalidField("idempotency_key",
			"idempotency_key must not be empty; leave it out, or use one key for each notification")
	}
	return nil
}
