package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// duty is a condition that must become true after an acknowledgement.
type duty struct {
	says   string
	within time.Duration
	check  func(*checker, context.Context, *promise) error
}

var duties map[string]duty

// Names of duties.
const (
	found, announced, answeredFor = "found", "announced", "called or escalated"
	recorded, replaced, delivered = "recorded", "replaced", "delivered"
	arrived, sum, linked, read    = "arrived", "sum", "linked", "read"
)

func init() { // in init, because a literal would refer to itself through the checks
	duties = map[string]duty{
		found:       {"a registered patient is found by phone number, with the sample", 5 * time.Second, (*checker).isFound},
		announced:   {"a notice of a critical value is in the inbox, once", 40 * time.Second, (*checker).isAnnounced},
		answeredFor: {"a critical value was called, escalated or corrected", 80 * time.Second, (*checker).isAnsweredFor},
		recorded:    {"a call with read-back is in the report's history", 5 * time.Second, (*checker).isRecorded},
		replaced:    {"the confirmed rerun value is the report's value, and no rerun is open", 5 * time.Second, (*checker).isReplaced},
		delivered:   {"a message is sent, or ends as unknown", 30 * time.Second, (*checker).isDelivered},
		arrived:     {"a webhook was received", 30 * time.Second, (*checker).hasArrived},
		sum:         {"the two bills of a split add up to the bill before the split", 5 * time.Second, (*checker).sums},
		linked:      {"the newest save of a document is linked to the report, byte for byte", 5 * time.Second, (*checker).isLinked},
		read:        {"a notification that was read stays read", 5 * time.Second, (*checker).isRead},
	}
}

func (c *checker) isFound(ctx context.Context, p *promise) error {
	ids, samples, err := c.people.search(ctx, labUser, p.Text)
	if err != nil {
		return err
	}
	if !slices.Contains(ids, p.User) {
		return fmt.Errorf("patient %d is not among %d hits", p.User, len(ids))
	}
	if !slices.ContainsFunc(samples, func(s string) bool { return strings.HasPrefix(s, fmt.Sprintf("D%d-", p.Bill)) }) {
		return fmt.Errorf("patient %d is found without the sample of bill %d", p.User, p.Bill)
	}
	if others, _, err := c.people.search(ctx, otherUser, p.Text); err == nil && len(others) > 0 {
		c.violated("another laboratory finds patient %d", p.User)
	}
	return nil
}

func (c *checker) isAnnounced(ctx context.Context, p *promise) error {
	first := c.notices[p.Bill]
	switch {
	case len(first) == 0 && c.wasCorrected(ctx, p):
		return nil
	case len(first) == 0:
		return fmt.Errorf("no notice of bill %d", p.Bill)
	case len(first) > 1:
		c.violated("bill %d was announced %d times", p.Bill, len(first))
	}
	if _, shown := c.inbox[first[0]]; !shown {
		return fmt.Errorf("the inbox lacks notification %d", first[0])
	}
	return nil
}

// wasCorrected reports whether a second measurement replaced the value before anyone was informed of it.
func (c *checker) wasCorrected(ctx context.Context, p *promise) bool {
	var value string
	err := c.store.QueryRowContext(ctx, "SELECT value FROM reportValues WHERE labReportId_id = ?", p.Report).Scan(&value)
	return err == nil && value != p.Text
}

func (c *checker) isAnsweredFor(ctx context.Context, p *promise) error {
	history, err := c.people.history(ctx, p.Report)
	if err != nil {
		return err
	}
	for _, text := range history {
		if strings.HasPrefix(text, "Critical callout is overdue") || strings.HasPrefix(text, "Critical callout completed") ||
			strings.HasPrefix(text, "Critical result withdrawn") {
			return nil
		}
	}
	if c.wasCorrected(ctx, p) {
		return nil
	}
	return fmt.Errorf("the history of report %d is %q", p.Report, history)
}

func (c *checker) isRecorded(ctx context.Context, p *promise) error {
	history, err := c.people.history(ctx, p.Report)
	if err == nil && !slices.Contains(history, "Critical callout completed") {
		err = fmt.Errorf("the history of report %d is %q", p.Report, history)
	}
	return err
}

func (c *checker) isReplaced(ctx context.Context, p *promise) error {
	var value string
	var flag int
	if err := c.store.QueryRowContext(ctx, "SELECT v.value, r.sampleRedrawFlag FROM labReportRelation r"+
		" JOIN reportValues v ON v.labReportId_id = r.id WHERE r.id = ?", p.Report).Scan(&value, &flag); err != nil {
		return err
	}
	if value != p.Text || flag != 0 {
		return fmt.Errorf("report %d has %s and flag %d, not %s and 0", p.Report, value, flag, p.Text)
	}
	return nil
}

func (c *checker) isDelivered(ctx context.Context, p *promise) error {
	var info struct {
		Jobs []struct{ ID, Status string }
	}
	if err := c.people.ask(ctx, labUser, http.MethodPost, "/jobInfo/", map[string]any{"id": p.Jobs}, &info); err != nil {
		return err
	}
	for _, job := range info.Jobs {
		switch job.Status {
		case "finished":
		case "unknown": // by contract: the process died during a call of a provider, and a paid message is not repeated
			c.doubtful.Store(job.ID, true)
		default:
			return fmt.Errorf("job %s is %s", job.ID, job.Status)
		}
	}
	if len(info.Jobs) != len(p.Jobs) {
		return fmt.Errorf("%d of %d jobs are known", len(info.Jobs), len(p.Jobs))
	}
	return nil
}

func (c *checker) hasArrived(_ context.Context, p *promise) error {
	for _, job := range p.Jobs {
		if c.people.receiver.times(job) == 0 {
			return fmt.Errorf("job %s was not received", job)
		}
	}
	return nil
}

// sums checks that the two bills of a split add up to 560.00, the amount of every bill of the simulation.
func (c *checker) sums(ctx context.Context, p *promise) error {
	var splits int
	var bills, tests string
	if err := c.store.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(b.billTotalAmount), 0) + p.billTotalAmount,
		(SELECT SUM(testAmount) FROM billingInfo WHERE billId_id = p.id OR billId_id = MAX(b.id))
		FROM billing p LEFT JOIN bill_split_audit a ON a.parent_bill_id = p.id LEFT JOIN billing b ON b.id = a.new_bill_id
		WHERE p.id = ?`, p.Bill).Scan(&splits, &bills, &tests); err != nil {
		return err
	}
	if splits != 1 || bills != "560.00" || tests != "560.00" {
		return fmt.Errorf("bill %d was split %d times; the bills have %s, their tests %s", p.Bill, splits, bills, tests)
	}
	return nil
}

// isLinked checks that the object that the report names equals the uploaded one, unless a later save was linked.
func (c *checker) isLinked(ctx context.Context, p *promise) error {
	var linked, revision int64
	if err := c.store.QueryRowContext(ctx, `SELECT s.revision, r.revision FROM external_edit_session s
		JOIN external_edit_revision r ON r.session_id = s.id AND r.word_sha256 = ? WHERE s.id = ?`,
		p.Save.Digest, p.Save.Session).Scan(&linked, &revision); err != nil {
		return fmt.Errorf("the save of session %d: %w", p.Save.Session, err)
	}
	if linked < revision {
		return fmt.Errorf("session %d links save %d, not %d", p.Save.Session, linked, revision)
	}
	if linked > revision {
		return nil
	}
	var path string
	if err := c.store.QueryRowContext(ctx, "SELECT wordFilePath FROM labReportRelation WHERE id = ?", p.Report).
		Scan(&path); err != nil {
		return err
	}
	path = path[max(0, strings.Index(path, "labs/")):] // a report names its object by a URL
	content, err := os.ReadFile(filepath.Join(c.objects, path))
	if err != nil {
		return err
	}
	if got := digest(content); got != p.Save.Digest {
		return fmt.Errorf("%s has the digest %s", path, got)
	}
	return nil
}

func digest(content []byte) string {
	d := sha256.Sum256(content)
	return hex.EncodeToString(d[:])
}

func (c *checker) isRead(_ context.Context, p *promise) error {
	if isRead, shown := c.inbox[p.Note]; !shown || !isRead {
		return fmt.Errorf("notification %d: in the inbox %t, read %t", p.Note, shown, isRead)
	}
	return nil
}
