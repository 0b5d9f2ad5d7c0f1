package mysql

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Held returns a page of the reports with a session that is active at now. As open sessions are few, the query finds
// them by expiry across all laboratories.
func (s *Store) Held(
	ctx context.Context, sees sight.Sight, now time.Time, p worklist.Page,
) (worklist.List[session.HeldReport], error) {
	return worklist.Read(ctx, s.db, sees, worklist.Query{
		Columns: "e.id, r.id, IFNULL(t.testName, ''), IF(r.sampleId = '', r.manualSampleId, r.sampleId), IFNULL(b.labBillId, 0)," +
			" e.author_name, e.created_at, e.updated_at, " + worklist.PatientColumns,
		From: "external_edit_session e JOIN labReportRelation r ON r.id = e.lab_report_id AND r.labId_id = e.lab_id" +
			" LEFT JOIN AllTests t ON t.id = r.reportID_id AND IFNULL(t.labId_id, r.labId_id) = r.labId_id" +
			" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
			worklist.JoinPatient("r.userDetailsId_id", "r.labId_id"),
		Where: "e.is_active = 1 AND e.expires_at > ? AND e.lab_id = ?",
		Args:  []any{now.UnixMilli(), sees.Lab.LabID()},
		ID:    "e.id",
	}, p, scanHeld)
}

func scanHeld(row mysqldb.Row, h *session.HeldReport) error {
	var created, updated int64
	err := row.Scan(append([]any{&h.EditID, &h.ReportID, &h.TestName, &h.SampleID, &h.LabBillID, &h.AuthorName, &created,
		&updated}, h.Patient.Targets()...)...)
	h.CreatedAt, h.UpdatedAt = moment(created), moment(updated)
	return err
}
