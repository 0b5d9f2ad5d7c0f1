// Package consent validates and records WhatsApp consents, which are given per laboratory. Recipients without a consent
// get no messages.
package consent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	maxKey     = 190
	maxDetails = 64 << 10
)

// Update is a change of a consent as sent by the caller.
type Update struct {
	Type     string // opt_in, optin, opt_out or optout
	CacheKey string
	Details  []byte // raw JSON; empty if there is none
}

// Change is a validated update for the ledger. Details are a JSON object.
type Change struct {
	Update
	LabID         int64 // 0: an internal service without a laboratory
	Actor         string
	AtMs          int64
	RecipientHash []byte // SHA-256 of the international number; nil if the details contain none
	Category      string
	Source        string
	IP            string
	UserAgent     string
}

// OptsIn reports whether a stored type allows messages.
func OptsIn(kind string) bool { return kind == "opt_in" || kind == "optin" }

func known(kind string) bool { return OptsIn(kind) || kind == "opt_out" || kind == "optout" }

// Ledger stores changes: the append-only log and the current state in one transaction.
type Ledger interface {
	Record(ctx context.Context, c Change) error
}

// Recorder records changes of consents. It is safe for concurrent use.
type Recorder struct {
	ledger  Ledger
	clock   clock.Clock
	country int
}

// NewRecorder returns a Recorder. country is the calling code for numbers without one; with 0, such numbers are
// ignored.
func NewRecorder(ledger Ledger, clk clock.Clock, country int) *Recorder {
	return &Recorder{ledger: ledger, clock: clk, country: country}
}

// Update records a change. If it is repeated after a lost response, it adds an equal line to the ledger and does not
// change the state.
func (r *Recorder) Update(ctx context.Context, caller task.Caller, u Update) error {
	if fields := check(u); len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	c := Change{Update: u, LabID: caller.LabID, Actor: caller.Name, AtMs: r.clock.Now().UnixMilli()}
	if len(c.Details) == 0 || string(c.Details) == "null" {
		c.Details = []byte("{}")
	}
	c.describe(r.country)
	if err := r.ledger.Record(ctx, c); err != nil {
		return fmt.Errorf("record a consent: %w", err)
	}
	return nil
}

func check(u Update) (fields []apperr.Field) {
	wrong := func(name, message string) { fields = append(fields, apperr.Field{Name: name, Message: message}) }
	switch {
	case u.Type == "":
		wrong("type", "type is missing")
	case !known(u.Type):
		wrong("type", "type must be opt_in or opt_out")
	}
	switch {
	case u.CacheKey == "":
		wrong("cache_key", "cache_key is missing")
	case len(u.CacheKey) > maxKey:
		wrong("cache_key", fmt.Sprintf("cache_key is longer than %d bytes", maxKey))
	}
	switch details := string(bytes.TrimLeft(u.Details, " \t\r\n")); {
	case len(u.Details) > maxDetails:
		wrong("details_obj", "details_obj is larger than 64 KiB")
	case details != "" && details != "null" && !task.IsObject(u.Details):
		wrong("details_obj", "details_obj must be an object")
	}
	return fields
}

// describe fills the fields contained in the details. Missing fields, and those with a value of another type, stay
// empty.
func (c *Change) describe(country int) {
	var d map[string]json.RawMessage
	if json.Unmarshal(c.Details, &d) != nil {
		return
	}
	c.Category, c.Source = words(d["category"]), words(d["source"])
	c.IP, c.UserAgent = words(d["ip"]), words(d["user_agent"])
	var of task.Recipient
	_ = json.Unmarshal(d["contact"], &of.Contact)
	_ = json.Unmarshal(d["countryCode"], &of.CountryCode)
	if to, err := of.Number(country); err == nil {
		sum := sha256.Sum256([]byte(to.E164()))
		c.RecipientHash = sum[:]
	}
}

func words(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
