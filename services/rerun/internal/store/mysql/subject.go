package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// testsOfReport joins the formats (alias f) of the report's test, of the children of its billed profile and theirs, and
// of the tests that its values name: a report may have no row in billingInfo. Arguments: see testsArgs. It is a join,
// because the servers would evaluate an IN condition for each format of all tests.
const testsOfReport = " JOIN (WITH RECURSIVE billed (id, testId) AS (" +
	"SELECT b.id, b.testId_id FROM billingInfo b WHERE b.profileParentId = ? AND b.labId_id = ?" +
	" UNION SELECT b.id, b.testId_id FROM billed p JOIN billingInfo b ON b.profileParentId = p.id AND b.labId_id = ?)" +
	" SELECT ? AS testId UNION SELECT testId FROM billed" +
	" UNION SELECT v.profileTestId FROM reportValues v WHERE v.labReportId_id = ?) tests ON tests.testId = f.testId_id"

// testsArgs returns the arguments of testsOfReport; billing is the id of the report's row in billingInfo, if
// there is one.
func testsArgs(lab authn.LabScope, report, test int64, billing sql.NullInt64) []any {
	return []any{billing, lab.LabID(), lab.LabID(), test, report}
}

// Subject returns the report's patient and formats.
func (s *Store) Subject(ctx context.Context, scope authn.LabScope, reportID int64) (autorerun.Subject, error) {
	var subject autorerun.Subject
	var testID int64
	var billingInfoID sql.NullInt64
	var born, collected sql.NullTime
	var zone string
	var flag rerun.Flag
	p := &subject.Patient
	err := s.db.QueryRowContext(ctx, "SELECT r.sampleRedrawFlag, r.dismissed, r.reportID_id, r.billingInfoId_id,"+
		" r.sampleCollectionTime, l.timezone, u.gender, "+reportformat.BirthDate+", u.age"+
		" FROM labReportRelation r JOIN labs l ON l.id = r.labId_id JOIN userDetails u ON u.id = r.userDetailsId_id"+
		" WHERE r.id = ? AND r.labId_id = ?", reportID, scope.LabID()).
		Scan(&flag, &subject.Dismissed, &testID, &billingInfoID, &collected, &zone, &p.Gender, &born, &p.RecordedAge)
	if err != nil {
		return subject, wrap("read report", err)
	}
	subject.Open = flag.Open()
	p.BirthDate = born.Time
	p.SampledOn = reportformat.CollectionDay(collected, s.clock.Now(), zone)
	subject.Indices = map[int]bool{}
	subject.Formats, err = s.formats(ctx, scope, reportID, testID, billingInfoID, subject.Indices)
	return subject, err
}

// formats returns the formats that allow an automatic rerun, and adds the indices of all formats to indices.
func (s *Store) formats(
	ctx context.Context, scope authn.LabScope, reportID, testID int64, billingInfoID sql.NullInt64,
	indices map[int]bool,
) ([]autorerun.Format, error) {
	const query = "SELECT f.id, f.`index`, f.unit, f.valueType, f.meta, " + reportformat.RangeColumns + " FROM ReportFormat f" +
		testsOfReport + " LEFT JOIN ReportFormatRange g ON g.reportFormatId_id = f.id" +
		" WHERE f.isDisabled = 0 ORDER BY f.id, g.id"
	var formats []autorerun.Format
	last := int64(-1) // format id of the previous row
	err := mysqldb.Each(ctx, s.db, query, testsArgs(scope, reportID, testID, billingInfoID), func(rows *sql.Rows) error {
		var row formatRow
		if err := rows.Scan(row.targets()...); err != nil {
			return err
		}
		indices[row.index] = true
		meta, ok := readMeta(row.meta)
		if !ok || !meta.Allowed {
			return nil
		}
		if row.id != last {
			last = row.id
			formats = append(formats, meta.format(row.index, row.unit))
		}
		if band, ok := row.Band(row.valueType); ok {
			f := &formats[len(formats)-1]
			f.Bands = append(f.Bands, band)
		}
		return nil
	})
	return formats, wrap("read formats", err)
}
