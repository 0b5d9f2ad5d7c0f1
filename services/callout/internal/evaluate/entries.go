package evaluate

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
)

// logMeta is the meta of what this use case writes into the history. is_draft, method and recipients are documented for
// all entries.
type logMeta struct {
	IsDraft     bool   `json:"is_draft"`
	Method      string `json:"method"`
	Recipients  string `json:"recipients"`
	Detected    bool   `json:"detected,omitempty"`
	Withdrawn   bool   `json:"withdrawn,omitempty"`
	Corrected   bool   `json:"corrected,omitempty"`
	Suppressed  bool   `json:"suppressed,omitempty"`
	WithinHours int    `json:"repeat_within_hours,omitempty"`
}

func (p *pass) logDetection(ctx context.Context, s *subject) error {
	return p.log(ctx, s, "Critical result detected", logMeta{Detected: true})
}

func (p *pass) logWithdrawal(ctx context.Context, s *subject) error {
	return p.log(ctx, s, "Critical result withdrawn before a callout: its values are not critical any more",
		logMeta{Withdrawn: true})
}

func (p *pass) logCorrection(ctx context.Context, s *subject) error {
	return p.log(ctx, s, "A called critical result was corrected: its value is not critical any more",
		logMeta{Method: "notification", Corrected: true})
}

func (p *pass) logSuppression(ctx context.Context, s *subject) error {
	return p.log(ctx, s, "Critical callout suppressed: the patient's last call was not milder and was read back",
		logMeta{Suppressed: true, WithinHours: int(p.settings.RepeatWithin.Hours())})
}

func (p *pass) log(ctx context.Context, s *subject, text string, meta logMeta) error {
	return p.Log(ctx, activitylog.Entry{
		Category: activitylog.CriticalCallout, ReportID: s.ID, BillID: s.BillID, Actor: authn.Platform, At: p.now,
		Text: text, Meta: meta,
	})
}
