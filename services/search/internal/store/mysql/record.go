package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/search/internal/detail"
)

// The patient is read from the platform's own row, which is always current. Lists, and affiliations not in the
// registration, are read from the projection written by change capture. Only columns of user_meta's first migration are
// read. The server converts times, and dates are read as text, because the driver rejects the invalid dates in old
// rows.
const (
	personColumns = "u.id, u.labId_id, u.branchId, u.orgId_id, u.ccId_id, u.labPatientId, u.designation, u.firstName, u.middleName, u.lastName," +
		" u.fullName, u.contact, u.alternateContact, u.email, u.gender, CAST(u.dateOfBirth AS CHAR), u.age, u.passportNo," +
		" u.nationalIdentityNumber, COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', u.updatedOn), 0)"
	listColumns = ", m.order_numbers, m.bill_ids, m.lab_bill_ids, m.lab_report_ids, m.sample_ids, m.manual_sample_ids, m.lrf_ids," +
		" m.branch_ids, m.org_ids, m.cc_ids, m.last_bill_time, COALESCE(m.updated_at, 0)"
	// A projection of another laboratory or of a deleted patient is outdated and not used.
	joined = " FROM userDetails u LEFT JOIN user_meta m ON m.user_id = u.id AND m.lab_id = u.labId_id AND m.is_deleted = 0"
	alone  = " FROM userDetails u"
	one    = " WHERE u.id = ? AND u.labId_id = ? AND u.isDeleted = 0"
)

func (s *Store) IsReferredBy(
	ctx context.Context, lab authn.LabScope, userID, doctorID int64,
) (referred bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM billing WHERE userDetailsId_id = ? AND labId_id = ?"+
		" AND docId_id = ?)", userID, lab.LabID(), doctorID).Scan(&referred)
	return referred, mysqldb.Wrap("read bills of patient", err)
}

// Record returns the patient. If change capture has not created the projection yet, the lists are empty.
func (s *Store) Record(ctx context.Context, lab authn.LabScope, userID int64) (detail.Record, error) {
	var r row
	err := s.db.QueryRowContext(ctx, "SELECT "+personColumns+listColumns+joined+one, userID, lab.LabID()).
		Scan(append(r.person(), r.lists()...)...)
	if mysqldb.IsNoTable(err) {
		err = s.db.QueryRowContext(ctx, "SELECT "+personColumns+alone+one, userID, lab.LabID()).Scan(r.person()...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return detail.Record{}, detail.ErrNoUser
	}
	if err != nil {
		return detail.Record{}, mysqldb.Wrap("read patient", withoutValue(err))
	}
	return r.record(), nil
}
