package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// withBills sets the present bill in each message that names its report and its bill, because a split may have moved
// the report to another bill. The bill is read from the report's row, so that it is not stored twice.
func (s *Store) withBills(ctx context.Context, lab authn.LabScope, messages []*notification.Message) error {
	byReport := map[int64][]*notification.Message{}
	var reports []int64
	for _, m := range messages {
		id := reportOf(m.Data)
		if id != 0 && byReport[id] == nil {
			reports = append(reports, id)
		}
		byReport[id] = append(byReport[id], m)
	}
	for some := range slices.Chunk(reports, idsPerStatement) {
		marks, args := mysqldb.In(some, lab.LabID())
		query := "SELECT id, billId_id FROM labReportRelation WHERE labId_id = ? AND id IN (" + marks + ")"
		err := mysqldb.Each(ctx, s.db, query, args, func(rows *sql.Rows) error {
			var report, bill int64
			err := rows.Scan(&report, &bill)
			for _, m := range byReport[report] {
				m.Data = withBill(m.Data, bill)
			}
			return err
		})
		if err != nil {
			return mysqldb.Wrap("read bills of reports", err)
		}
	}
	return nil
}

const (
	reportField = "lrr_id"
	billField   = "bill_id"
)

// reportOf returns the report of a message that also names a bill, otherwise 0. Ids are numbers, or digits in a string.
func reportOf(data []byte) int64 {
	if !bytes.Contains(data, []byte(`"`+reportField+`"`)) {
		return 0
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields[billField] == nil {
		return 0
	}
	id, err := strconv.ParseInt(string(bytes.Trim(fields[reportField], `"`)), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// withBill returns the data with the bill, as a number or a string as before.
func withBill(data []byte, bill int64) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return data
	}
	stored := fields[billField]
	now := strconv.AppendInt(nil, bill, 10)
	if bytes.HasPrefix(stored, []byte(`"`)) {
		now = strconv.AppendQuote(nil, string(now))
	}
	if bytes.Equal(stored, now) {
		return data
	}
	fields[billField] = now
	changed, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return changed
}
