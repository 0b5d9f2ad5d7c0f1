package envelope_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

func TestASourceRowNamesItsPatient(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 50, 13, 123456000, time.UTC)
	owned := `{"id":7,"labId_id":12,"userDetailsId_id":501,"updatedOn":"2026-11-21T09:50:13.123456Z","x":{}}`
	for table, c := range map[string]struct {
		image string
		want  envelope.Image
	}{
		change.UserDetails:       {`{"id":501,"labId_id":12,"updatedOn":"2026-11-21T09:50:13.123456Z"}`, envelope.Image{RowID: 501, UserID: 501, LabID: 12, UpdatedOn: at}},
		change.Billing:           {owned, envelope.Image{RowID: 7, UserID: 501, LabID: 12, UpdatedOn: at}},
		change.LabReportRelation: {owned, envelope.Image{RowID: 7, UserID: 501, LabID: 12, UpdatedOn: at}},
	} {
		got, err := envelope.Source(table, []byte(c.image))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: got %v %s, want none", table, err, diff)
		}
	}
}

func TestASourceRowWithoutItsColumnsIsMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ table, image, want string }{
		{change.UserDetails, `{"labId_id":12}`, "column id is missing"},
		{change.UserDetails, `{"id":"Asha"}`, "column id has the wrong type"},
		{change.Billing, `{"id":1}`, "column userDetailsId_id is missing"},
		{change.Billing, `{"userDetailsId_id":1}`, "column id is missing"},
		{change.Billing, `{"id":1,"userDetailsId_id":1,"updatedOn":"Asha"}`, "column updatedOn is no time"},
		{change.Billing, `{"id":1,"userDetailsId_id":1,"updatedOn":1790000000000000}`, "column updatedOn has the wrong type"},
		{change.LabReportRelation, `{"id":1,"userDetailsId_id":9223372036854775808}`, "column userDetailsId_id has the wrong type"},
	} {
		_, err := envelope.Source(c.table, []byte(c.image))
		var m *envelope.Malformed
		if !errors.As(err, &m) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Asha") {
			t.Errorf("%s: got %v, want %q", c.image, err, c.want)
		}
	}
}

func TestAKeyIsReadBareAndWrapped(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int64{
		`{"user_id":501}`: 501,
		`{"schema":{"x":1},"payload":{"user_id":7}}`: 7,
		`{"user_id":9223372036854775807}`:            9223372036854775807,
	} {
		got, err := envelope.Key(change.Record{Key: []byte(key)}, "user_id")
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", key, got, err)
		}
	}
	for _, key := range []string{``, `null`, `{}`, `{"user_id":null}`, `{"user_id":"Asha"}`, `{"payload":3}`, `[`, `7`} {
		_, err := envelope.Key(change.Record{Key: []byte(key)}, "user_id")
		var m *envelope.Malformed
		if !errors.As(err, &m) || strings.Contains(err.Error(), "Asha") {
			t.Errorf("%q: %v", key, err)
		}
	}
}
