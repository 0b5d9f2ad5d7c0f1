package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

func (l *locked) loadLedgers(ctx context.Context, ids []int64, at map[int64]*callout.Facts) error {
	ledgers, err := l.store.ledgers(ctx, l.tx, l.scope, ids)
	for id, ledger := range ledgers {
		f := at[id]
		if f == nil {
			continue
		}
		for i := range ledger {
			f.Report.Identify(ledger[i].Parameters, l.formats)
		}
		f.Ledger = ledger
	}
	return err
}

// ledgers reads the statements of reports, the earliest first.
func (s *Store) ledgers(
	ctx context.Context, q querier, scope authn.LabScope, ids []int64,
) (map[int64]callout.Ledger, error) {
	in, args := list(ids)
	found := map[int64]callout.Ledger{}
	query := statementColumns + " WHERE s.lab_id = ? AND s.lab_report_id IN (" + in + ") ORDER BY s.id"
	err := each(ctx, q, "read statements", query,
		append([]any{scope.LabID()}, args...), func(r *sql.Rows) error {
			report, statement, err := scanStatement(r)
			found[report] = append(found[report], statement)
			return err
		})
	return found, err
}

const statementColumns = "SELECT s.id, s.lab_report_id, s.statement_key, s.kind, s.bill_id, s.patient_id, s.parameters, IFNULL(s.org_id, 0)," +
	" IFNULL(s.doctor_id, 0), s.persons, s.heard, s.read_back, s.said_at, s.told_at, IFNULL(s.takes_back, ''), IFNULL(s.reason, '')," +
	" IFNULL(s.because, ''), IFNULL(s.callout_id, 0), s.not_sent, s.record FROM callout_statement s"

func scanStatement(r *sql.Rows) (report int64, s callout.Statement, err error) {
	var said int64
	var told sql.NullInt64
	var parameters, persons, record []byte
	var sent int
	err = r.Scan(&s.ID, &report, &s.Key, &s.Kind, &s.BillID, &s.PatientID, &parameters, &s.Audience.OrgID,
		&s.Audience.DoctorID, &persons,
		&s.Heard, &s.ReadBack, &said, &told, &s.TakesBack, &s.Reason, &s.Because, &s.CalloutID, &sent, &record)
	if err != nil {
		return report, s, err
	}
	s.NotSent, s.Void = sent == notSent, sent == void
	s.Parameters, s.SaidAt = readParameters(parameters), time.UnixMicro(said).UTC()
	if told.Valid {
		s.ToldAt = time.UnixMicro(told.Int64).UTC()
	}
	if len(persons) > 0 {
		s.Audience.Persons = callout.Texts(persons)
	}
	if len(record) > 0 {
		var stored callout.Record
		if json.Unmarshal(record, &stored) == nil {
			s.Record = &stored
		}
	}
	return report, s, nil
}

// statementValues holds the placeholders for one row inserted by addStatements.
const statementValues = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// addStatements adds the statements of all decisions with one INSERT.
func (l *locked) addStatements(ctx context.Context, decisions []callout.Decision) error {
	var rows []string
	var args []any
	for i := range decisions {
		for j := range decisions[i].Statements {
			columns, err := l.statementRow(&decisions[i], &decisions[i].Statements[j])
			if err != nil {
				return err
			}
			rows, args = append(rows, statementValues), append(args, columns...)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := l.tx.ExecContext(ctx, "INSERT INTO callout_statement (lab_id, lab_report_id, statement_key, kind, bill_id, patient_id,"+
		" parameters, org_id, doctor_id, persons, heard, read_back, said_at, told_at, takes_back, reason, because, callout_id, record)"+
		" VALUES "+strings.Join(rows, ", "), args...)
	return wrap("add statements", err)
}

func (l *locked) statementRow(d *callout.Decision, s *callout.Statement) ([]any, error) {
	parameters, err := parametersColumn(s.Parameters)
	if err != nil {
		return nil, err
	}
	persons, err := textsColumn(s.Audience.Persons)
	if err != nil {
		return nil, err
	}
	calloutID, record := s.CalloutID, sql.NullString{}
	if d.Recorded != nil && d.Recorded.Key == s.Key {
		calloutID = d.Recorded.CalloutID
		if s.Kind == callout.Attempt {
			text, err := json.Marshal(d.Recorded.Record)
			if err != nil {
				return nil, fmt.Errorf("encode record: %T", d) // err is omitted, because it may quote a value
			}
			record = sql.NullString{String: string(text), Valid: true}
		}
	}
	told := sql.NullInt64{Int64: s.ToldAt.UnixMicro(), Valid: !s.ToldAt.IsZero()}
	return []any{
		l.scope.LabID(), d.Report.ID, s.Key, s.Kind, s.BillID, s.PatientID, parameters, idOrNull(s.Audience.OrgID),
		idOrNull(s.Audience.DoctorID), persons, s.Heard, s.ReadBack, s.SaidAt.UnixMicro(), told, textOrNull(s.TakesBack),
		textOrNull(s.Reason), textOrNull(s.Because), idOrNull(calloutID), record,
	}, nil
}

func textOrNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func idOrNull(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

func textsColumn(list []string) (sql.NullString, error) {
	if len(list) == 0 {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return sql.NullString{}, fmt.Errorf("encode names: %T", list)
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}
