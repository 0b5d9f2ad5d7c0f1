package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// inputs holds the update times of the rows that an evaluation depends on.
type inputs struct {
	patient, bill sql.NullTime
	values        int64 // sum of the update times of all values, in microseconds
}

// facts loads the facts of the locked reports, ordered by id, then those of deleted reports. The number of statements
// does not depend on the number of reports.
func (l *locked) facts(ctx context.Context, ids []int64) ([]callout.Facts, error) {
	if err := l.readReports(ctx, ids); err != nil {
		return nil, err
	}
	settings, err := l.store.settings(ctx, l.tx, l.scope)
	if err != nil {
		return nil, err
	}
	if err := l.addGone(ctx, ids); err != nil || len(l.reports) == 0 {
		return nil, err
	}
	facts, at := make([]callout.Facts, len(l.reports)), map[int64]*callout.Facts{}
	for i, r := range l.reports {
		facts[i] = callout.Facts{
			Report: r, Audience: callout.Audience{OrgID: r.Bill.OrgID, DoctorID: r.Bill.DoctorID},
			Finding: callout.Judge(r.Chart, l.formats), ValuesAt: valuesAt(r.Chart.Readings), Settings: settings,
		}
		if row, ok := l.unconfirmed[r.ID]; ok {
			facts[i].Unconfirmed = row.judge(&r, l.formats)
		}
		at[r.ID] = &facts[i]
	}
	for _, load := range []func(context.Context, []int64, map[int64]*callout.Facts) error{
		l.loadWaits, l.loadLedgers, l.loadForeign,
	} {
		if err := load(ctx, ids, at); err != nil {
			return nil, err
		}
	}
	if err := l.loadMerged(ctx, facts); err != nil {
		return nil, err
	}
	if settings.RepeatWithin > 0 {
		if err := l.loadEarlier(ctx, facts); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

func (l *locked) readReports(ctx context.Context, ids []int64) (err error) {
	in, args := list(ids)
	l.inputs, l.unconfirmed = map[int64]inputs{}, map[int64]unconfirmedRow{}
	beside := reading{inputs: l.inputs, unconfirmed: l.unconfirmed}
	l.reports, l.formats, err = l.store.readReports(ctx, l.tx, l.scope, beside,
		" AND r.id IN ("+in+") ORDER BY r.id", args...)
	return err
}

// addGone adds reports whose row was deleted while they waited.
func (l *locked) addGone(ctx context.Context, ids []int64) error {
	var missing []int64
	known := map[int64]bool{}
	for _, r := range l.reports {
		known[r.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	in, args := list(missing)
	return each(ctx, l.tx, "read waits of deleted reports", "SELECT e.lab_report_id, e.bill_id FROM callout_episode e"+
		" LEFT JOIN labReportRelation r ON r.id = e.lab_report_id WHERE e.open_report_id IN ("+in+") AND e.lab_id = ? AND r.id IS NULL",
		append(args, l.scope.LabID()), func(r *sql.Rows) error {
			gone := callout.Report{Dismissed: true, Deleted: true}
			err := r.Scan(&gone.ID, &gone.BillID)
			l.reports = append(l.reports, gone)
			return err
		})
}

func valuesAt(readings []callout.Reading) (last time.Time) {
	for _, r := range readings {
		if r.At.After(last) {
			last = r.At
		}
	}
	return last
}

// loadWaits reads the newest wait of each report.
func (l *locked) loadWaits(ctx context.Context, ids []int64, at map[int64]*callout.Facts) error {
	in, args := list(ids)
	query := episodeColumns + " JOIN (SELECT MAX(id) AS id FROM callout_episode WHERE lab_report_id IN (" + in + ")" +
		" GROUP BY lab_report_id) newest ON newest.id = e.id WHERE e.lab_id = ?"
	return each(ctx, l.tx, "read waits", query, append(args, l.scope.LabID()), func(r *sql.Rows) error {
		e, err := scanEpisode(r)
		f := at[e.ReportID]
		if err != nil || f == nil {
			return err
		}
		f.Report.Identify(e.Parameters, l.formats)
		f.LastWait = &e
		if !e.Closed {
			f.Wait = &e
		}
		return nil
	})
}

// loadForeign reads callouts of other programs that are not in the ledger yet.
func (l *locked) loadForeign(ctx context.Context, ids []int64, at map[int64]*callout.Facts) error {
	in, args := list(ids)
	const columns = "SELECT c.id, c.lab_report_id, IFNULL(c.user_details_id, IFNULL(b.userDetailsId_id, 0)), IFNULL(c.org_id, 0), IFNULL(c.referral_doc_id, 0)," +
		" c.critical_values_meta, c.critical_callout_meta, c.created_on FROM CriticalCallout c" +
		" LEFT JOIN billing b ON b.id = c.bill_id AND b.labId_id = c.lab_id" +
		" LEFT JOIN callout_statement s ON s.callout_id = c.id"
	return each(ctx, l.tx, "read callouts of other programs", columns+" WHERE c.lab_id = ? AND c.lab_report_id IN ("+in+
		") AND s.id IS NULL ORDER BY c.id", append([]any{l.scope.LabID()}, args...), func(r *sql.Rows) error {
		var c callout.Foreign
		var report int64
		var values, meta []byte
		err := r.Scan(&c.ID, &report, &c.PatientID, &c.Audience.OrgID, &c.Audience.DoctorID, &values, &meta, &c.CreatedAt)
		f := at[report]
		if err != nil || f == nil {
			return err
		}
		var snapshot callout.Snapshot
		snapshot, c.Readable = callout.ReadSnapshot(values, report)
		c.Parameters, c.ReadBack = snapshot.Parameters, callout.WasReadBack(meta)
		c.Corrected = snapshot.Corrected || callout.InformsOfCorrection(meta)
		f.Report.Identify(c.Parameters, l.formats)
		f.Foreign = append(f.Foreign, c)
		return nil
	})
}

// loadMerged finds previous patients whose records were merged into the present ones.
func (l *locked) loadMerged(ctx context.Context, facts []callout.Facts) error {
	var previous []int64
	for i := range facts {
		previous = append(previous, facts[i].PreviousPatients()...)
	}
	if len(previous) == 0 {
		return nil
	}
	known, err := l.previousPatients(ctx, previous)
	if err != nil {
		return err
	}
	names, err := l.namesAtCalls(ctx, facts, previous)
	if err != nil {
		return err
	}
	for i := range facts {
		f := &facts[i]
		for _, id := range f.PreviousPatients() {
			p := known[id]
			p.Called, p.CalledAs = f.CalledAbout(id), names[called{f.Report.ID, id}]
			if p.MergedInto(&f.Report) {
				f.Merged = append(f.Merged, id)
			}
		}
	}
	return nil
}

func (l *locked) previousPatients(ctx context.Context, ids []int64) (map[int64]callout.PreviousPatient, error) {
	in, args := list(ids)
	known := map[int64]callout.PreviousPatient{}
	err := each(ctx, l.tx, "read previous patients", "SELECT u.id, u.fullName, u.gender, "+reportformat.BirthDate+
		", u.isDeleted, EXISTS (SELECT 1 FROM billing b WHERE b.userDetailsId_id = u.id AND b.labId_id = u.labId_id) FROM userDetails u WHERE u.labId_id = ? AND u.id IN ("+in+")",
		append([]any{l.scope.LabID()}, args...), func(r *sql.Rows) error {
			var id int64
			p := callout.PreviousPatient{Exists: true}
			var born sql.NullTime
			err := r.Scan(&id, &p.Name, &p.Gender, &born, &p.Deleted, &p.Billed)
			p.BirthDate = born.Time
			known[id] = p
			return err
		})
	return known, err
}

// called identifies the calls about a report of a patient.
type called struct{ report, patient int64 }

// namesAtCalls returns the names that the patients had at the newest call. Rows of other programs have no names.
func (l *locked) namesAtCalls(ctx context.Context, facts []callout.Facts, patients []int64) (map[called]string, error) {
	reports := make([]int64, len(facts))
	for i := range facts {
		reports[i] = facts[i].Report.ID
	}
	inReports, args := list(reports)
	inPatients, more := list(patients)
	names := map[called]string{}
	err := each(ctx, l.tx, "read names at calls", "SELECT lab_report_id, user_details_id, IFNULL(JSON_UNQUOTE(JSON_EXTRACT(names, '$.patient')), '')"+
		" FROM CriticalCallout WHERE lab_id = ? AND lab_report_id IN ("+inReports+") AND user_details_id IN ("+inPatients+") ORDER BY id",
		append(append([]any{l.scope.LabID()}, args...), more...), func(r *sql.Rows) error {
			var of called
			var name string
			err := r.Scan(&of.report, &of.patient, &name)
			names[of] = name
			return err
		})
	return names, err
}

// loadEarlier reads the patients' earlier results within the time of the repeat policy, the newest first.
func (l *locked) loadEarlier(ctx context.Context, facts []callout.Facts) error {
	patients, ids := make([]int64, len(facts)), map[int64]bool{}
	for i := range facts {
		patients[i], ids[facts[i].Report.ID] = facts[i].Report.PatientID, true
	}
	in, args := list(patients)
	since := l.store.clock.Now()
	for i := range facts {
		if s := facts[i].Ledger.LastSuppressed(); s != nil && s.SaidAt.Before(since) {
			since = s.SaidAt
		}
	}
	since = since.Add(-facts[0].Settings.RepeatWithin)
	// Lock the rows, to wait for transactions that change one of these results.
	err := each(ctx, l.tx, "lock earlier results", "SELECT r.id FROM labReportRelation r WHERE r.labId_id = ? AND r.userDetailsId_id IN ("+in+
		") AND r.updatedOn >= ? ORDER BY r.id LIMIT 1000 LOCK IN SHARE MODE", append(append([]any{l.scope.LabID()}, args...), since.UTC()), scanIDs(new([]int64)))
	if err != nil {
		return err
	}
	others, formats, err := l.store.readReports(ctx, l.tx, l.scope, reading{},
		" AND r.dismissed = 0 AND r.userDetailsId_id IN ("+in+") AND r.updatedOn >= ? ORDER BY r.sampleCollectionTime DESC, r.id DESC LIMIT 1000", append(args, since.UTC())...)
	if err != nil || len(others) == 0 {
		return err
	}
	otherIDs, at := make([]int64, len(others)), map[int64]*callout.Facts{}
	read := make([]callout.Facts, len(others))
	for i, r := range others {
		read[i] = callout.Facts{Report: r, Finding: callout.Judge(r.Chart, formats)}
		otherIDs[i], at[r.ID] = r.ID, &read[i]
	}
	if err := l.loadLedgers(ctx, otherIDs, at); err != nil {
		return err
	}
	for i := range facts {
		f := &facts[i]
		for j := range read {
			o := &read[j]
			if o.Report.PatientID == f.Report.PatientID && o.Report.Before(&f.Report) {
				f.Earlier = append(f.Earlier, callout.Earlier{ReportID: o.Report.ID, Finding: o.Finding, Ledger: o.Ledger})
			}
		}
	}
	return nil
}
