package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// The query first reads the tests with mapped keys, then their reports that are neither signed nor dismissed. It uses
// the index of laboratory, test and state, because a laboratory has far more signed reports.
const waitingFrom = "(SELECT t.id, t.testName FROM AllTests t WHERE (t.labId_id = ? OR t.labId_id IS NULL) AND EXISTS" +
	" (SELECT 1 FROM cell_counter_mappings m WHERE m.test_id = t.id AND m.lab_scope IN (0, ?))) t" +
	" STRAIGHT_JOIN labReportRelation r ON r.reportID_id = t.id AND r.labId_id = ? AND r.isSigned = 0 AND r.dismissed = 0" +
	" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
	" LEFT JOIN cell_count f ON f.lab_id = r.labId_id AND f.lab_report_id = r.id AND f.test_id = t.id AND f.observer = 1" +
	" AND (f.sample_id IS NULL OR " + sampleOfReport + " IN (f.sample_id, ''))" +
	" LEFT JOIN cell_count s ON s.lab_id = r.labId_id AND s.lab_report_id = r.id AND s.test_id = t.id AND s.observer = 2" +
	" AND (s.sample_id IS NULL OR " + sampleOfReport + " IN (s.sample_id, ''))"

// Waiting returns reports that lack a count, for tests with mapped keys.
func (s *Store) Waiting(
	ctx context.Context, sees sight.Sight, p worklist.Page,
) (worklist.List[observe.Waiting], error) {
	lab := sees.Lab.LabID()
	return worklist.Read(ctx, s.db, sees, worklist.Query{
		Columns: "r.id, t.id, t.testName, " + sampleOfReport + ", IFNULL(b.labBillId, 0)," +
			" IF(f.observer IS NULL, 1, 2), IFNULL(f.counted_by, s.counted_by), IFNULL(f.counted_by_kind, s.counted_by_kind)," +
			" IFNULL(f.counted_by_name, s.counted_by_name), IFNULL(f.counted_at, s.counted_at), " + worklist.PatientColumns,
		From:  waitingFrom + worklist.JoinPatient("r.userDetailsId_id", "r.labId_id"),
		Where: "(f.observer IS NULL OR s.observer IS NULL)",
		Args:  []any{lab, lab, lab},
		ID:    "r.id",
	}, p, scanWaiting)
}

func scanWaiting(row mysqldb.Row, w *observe.Waiting) error {
	var by, at sql.NullInt64
	var kind, name sql.NullString
	err := row.Scan(append([]any{&w.ReportID, &w.TestID, &w.TestName, &w.SampleID, &w.LabBillID, &w.Missing, &by, &kind,
		&name, &at}, w.Patient.Targets()...)...)
	w.CountedBy = authn.Actor{Kind: authn.ActorKind(kind.String), ID: by.Int64, Name: name.String}
	w.CountedAt = at.Int64
	return err
}
