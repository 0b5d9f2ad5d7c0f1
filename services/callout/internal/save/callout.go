package save

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/history"
)

// Performer is the person who records the callout.
type Performer struct {
	UserID   int64 // id of a lab user; 0 for doctors and support
	DoctorID int64
	Actor    authn.Actor
	Sees     callout.Visibility
}

// Callout is a callout or an attempt as the caller sent it.
type Callout struct {
	BillID     int64
	Draft      bool
	ReportIDs  []int64
	Recipients []string
	Methods    []string
	Comment    string
	ReadBack   *bool
	Person     string
	NotifiedAt string // ISO 8601; empty if not stated
	Outcome    callout.Outcome
	Force      bool
	// Told are the values stated in the call, of all reports; empty means the present values.
	Told []ToldValue

	toldAt time.Time // NotifiedAt, parsed
}

// ToldValue is a critical value as stated in the call.
type ToldValue struct {
	ReportID, FormatID int64
	RawValue           string
}

// writtenWords are words in names of written methods, such as "sms". spokenWords take precedence: "WhatsApp call" is
// spoken.
var (
	writtenWords = []string{"sms", "email", "mail", "fax", "letter", "app", "portal", "message"}
	spokenWords  = []string{
		"call", "calls", "called", "phone", "telephone", "voice", "video", "person", "verbal", "spoken", "oral",
	}
)

// spoken reports whether a method is spoken. Unknown methods count as spoken.
func (c *Callout) spoken() bool {
	return slices.ContainsFunc(c.Methods, func(method string) bool {
		words := strings.FieldsFunc(strings.ToLower(method), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r)
		})
		has := func(list []string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(list, word) })
		}
		return has(spokenWords) || !has(writtenWords)
	})
}

// isName reports whether a text contains at least two letters of any script.
func isName(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}

// heard reports whether the person read the result back.
func (c *Callout) heard() bool { return callout.Meta{ReadBack: c.ReadBack, Outcome: c.Outcome}.Heard() }

// Limits of the number of recipients and of methods, of the stored texts in characters, and of the time.
const (
	maxNames     = 20
	longestName  = 255
	longestText  = 5000
	clockLeeway  = time.Minute // how far the caller's clock may be ahead
	completeNeed = " is empty: give at least one, or save a draft with is_draft"
)

// checked returns the callout with defaults applied, or an error that names the first invalid field.
func (c Callout) checked(now time.Time) (Callout, error) {
	if err := history.CheckIDs("lab_report_ids", c.ReportIDs); err != nil {
		return c, err
	}
	c.ReportIDs = slices.Compact(slices.Sorted(slices.Values(c.ReportIDs)))
	for _, field := range []struct {
		name  string
		texts []string
	}{{"recipients", c.Recipients}, {"communication_methods", c.Methods}} {
		if err := checkNames(field.name, field.texts, c.Draft); err != nil {
			return c, err
		}
	}
	if utf8.RuneCountInString(c.Comment) > longestText {
		return c, apperr.InvalidField(
			"critical_callout_comment",
			"critical_callout_comment is longer than 5000 characters: shorten it",
		)
	}
	if utf8.RuneCountInString(c.Person) > longestName {
		return c, apperr.InvalidField("notified_person", "notified_person is longer than 255 characters: shorten it")
	}
	if err := c.checkOutcome(); err != nil {
		return c, err
	}
	c, err := c.withTime(now)
	if err == nil && !c.Draft && (c.spoken() || c.Person != "") && !isName(c.Person) {
		err = apperr.InvalidField(
			"notified_person",
			"notified_person is not a name: give the name of the person who was informed, or save a draft with is_draft",
		)
	}
	return c, err
}

func checkNames(name string, texts []string, draft bool) error {
	if len(texts) == 0 && !draft {
		return apperr.InvalidField(name, name+completeNeed)
	}
	if len(texts) > maxNames {
		return apperr.InvalidField(name, name+" has more than 20 entries")
	}
	for _, t := range texts {
		if strings.TrimSpace(t) == "" || utf8.RuneCountInString(t) > longestName {
			return apperr.InvalidField(name, name+" must hold texts of 1 to 255 characters")
		}
	}
	return nil
}

func (c *Callout) checkOutcome() error {
	if !c.Outcome.Known() {
		return apperr.InvalidField("outcome", "outcome must be confirmed, reached_no_readback or unable_to_reach")
	}
	if c.Draft {
		return nil
	}
	if c.Outcome == callout.UnableToReach {
		return apperr.InvalidField(
			"outcome",
			"no one was reached, so the callout is not complete: save it as a draft with is_draft true",
		)
	}
	if c.Outcome == callout.Confirmed && c.ReadBack != nil && !*c.ReadBack {
		return apperr.InvalidField("outcome", "outcome confirmed contradicts read_back false: send reached_no_readback")
	}
	if c.Outcome == "" && c.ReadBack != nil {
		c.Outcome = callout.NoReadBack
		if *c.ReadBack {
			c.Outcome = callout.Confirmed
		}
	}
	return nil
}

// withTime parses notified_at. For a completed callout without it, the present time is used.
func (c Callout) withTime(now time.Time) (Callout, error) {
	at := now
	if c.NotifiedAt == "" {
		if c.Draft {
			return c, nil
		}
	} else {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, c.NotifiedAt); err != nil {
			return c, apperr.InvalidField(
				"notified_at",
				"notified_at must be an ISO 8601 time with a zone, for example 2026-11-20T10:00:00Z",
			)
		}
		if at.After(now.Add(clockLeeway)) {
			return c, apperr.InvalidField("notified_at", "notified_at lies in the future: give the time of the call")
		}
	}
	c.NotifiedAt, c.toldAt = at.UTC().Format(time.RFC3339), at
	if at.After(now) { // the caller's clock is slightly ahead
		c.toldAt = now
	}
	return c, nil
}

func (c Callout) meta(by Performer, tests []int64) callout.Meta {
	methods := c.Methods
	if methods == nil {
		methods = []string{}
	}
	slices.Sort(tests)
	return callout.Meta{
		CommunicationMethods: methods, CalloutFor: slices.Compact(tests), ReadBack: c.ReadBack, NotifiedPerson: c.Person,
		NotifiedAt: c.NotifiedAt, Outcome: c.Outcome, PerformedBy: by.Actor.Name, Forced: c.Force,
	}
}

// entry returns the history entry of the callout. According to the API document, every entry has a method and
// recipients.
func (c *Callout) entry(d *callout.Decision, by Performer) callout.Log {
	return callout.Log{By: by.Actor, Text: c.says(d), Meta: logMeta{
		IsDraft: d.Recorded.Kind == callout.Attempt, Method: strings.Join(c.Methods, ", "),
		Recipients: strings.Join(c.Recipients, ", "), ReadBack: c.ReadBack, Outcome: c.Outcome,
		NotifiedPerson: c.Person, NotifiedAt: c.NotifiedAt, Corrected: d.Corrected,
		Change: activitylog.Change[state]{Old: state{d.Report.Status.String()}, New: state{d.Status.String()}},
	}}
}

func (c *Callout) says(d *callout.Decision) string {
	switch {
	case d.Corrected:
		return "Critical callout of a correction"
	case d.Recorded.Kind == callout.Call && d.Repeated:
		return "Critical callout repeated"
	case d.Recorded.Kind == callout.Call:
		return "Critical callout completed"
	case c.Draft:
		return "Critical callout attempted: draft saved"
	}
	return "Critical callout attempted: no one read it back"
}

// notOnBill is the error for a callout about a report that is not on its bill.
type notOnBill struct{ reportID int64 }

var _ error = (*notOnBill)(nil)

func (n *notOnBill) Error() string { return "a report is not on the bill" }

// errBillChanged returns the error for a page that was opened before the bill was split or merged.
func errBillChanged(reportID, billID int64) error {
	return apperr.Newf(apperr.Conflict, billChanged,
		"Report %d moved to bill %d (its id) by a split; nothing was saved, save the callout for that bill", reportID, billID).
		WithDetails(billChanged).WithData(map[string]int64{"lab_report_id": reportID, "bill_id": billID})
}

const billChanged = "BILL_CHANGED"

func errNotOnBill(id int64) error {
	return apperr.InvalidField(
		"lab_report_ids",
		fmt.Sprintf("report %d is not on this bill; load the bill's critical records", id),
	)
}

func errDone(ids []int64, draft bool) error {
	if draft {
		return apperr.Newf(
			apperr.Conflict,
			"CALLOUT_DONE",
			"The callout is done already for reports %s, so there is nothing to draft",
			text(ids),
		)
	}
	return apperr.Newf(apperr.Conflict, "CALLOUT_DONE",
		"The callout is done already for reports %s; load the history, or send force true to record another one", text(ids))
}

func errNotCritical(ids []int64) error {
	return apperr.Newf(
		apperr.Conflict,
		"NOT_CRITICAL",
		"Reports %s do not wait for a callout: no critical value was found in them; load the bill's critical records again",
		text(ids),
	)
}

func errChanged(ids []int64) error {
	return apperr.Newf(apperr.Conflict, "VALUES_CHANGED",
		"The critical values of reports %s differ from the communicated ones: load the bill's critical records, communicate the new values, and save again",
		text(ids))
}

func text(ids []int64) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(parts, ", ")
}
