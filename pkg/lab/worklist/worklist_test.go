package worklist_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

var template = mysqltest.Template{Platform: map[string][]string{
	"billing": append(sight.Columns(), "id", "labId_id", "labBillId", "userDetailsId_id"), "userDetails": worklist.PatientTable(),
}}

func TestPages(t *testing.T) {
	t.Parallel()
	number := func(n int32) *int32 { return &n }
	id := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		limit  *int32
		before *int64
		want   worklist.Page
		field  string // name of the wrong field
	}{
		"absent":        {nil, nil, worklist.Page{Limit: 50}, ""},
		"given":         {number(200), id(7), worklist.Page{Limit: 200, Before: 7}, ""},
		"none":          {number(0), nil, worklist.Page{}, "limit"},
		"too many":      {number(201), nil, worklist.Page{}, "limit"},
		"before no id":  {nil, id(0), worklist.Page{}, "before"},
		"a negative id": {nil, id(-1), worklist.Page{}, "before"},
	} {
		_, got, err := worklist.Asked(authn.Principal{SessionType: authn.LabUser, LabID: 12}, c.limit, c.before)
		if e, _ := apperr.From(err); e != nil && (len(e.Fields) != 1 || e.Fields[0].Name != c.field) || (err == nil) != (c.field == "") {
			t.Errorf("%s: %v, want an error about %q", name, err, c.field)
		}
		if err == nil && got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestTheNumberIsThatOfTheList checks the total of a list with more entries than are counted, for logins that see
// different bills.
func TestTheNumberIsThatOfTheList(t *testing.T) {
	t.Parallel()
	db := template.New(t)
	const entries = worklist.MaxTotal + 2
	if _, err := db.ExecContext(t.Context(), "INSERT INTO userDetails (id, labId_id, fullName, gender, age, dateOfBirth) VALUES"+
		" (1, 12, 'Meena Joshi', 'Female', '36 Y', '1850-01-01'), (2, 13, 'Another', '', '', NULL)"); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= entries; i++ {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO billing (id, labId_id, labBillId, branchId, docId_id, orgId_id, ccId_id, userDetailsId_id)"+
			" VALUES (?, 12, ?, ?, ?, ?, ?, 1 + (? = 1))", i, i, i%2, i%3, i%4, i%5, i); err != nil {
			t.Fatal(err)
		}
	}
	doctor := 2
	for name, c := range map[string]struct {
		who  authn.Principal
		want string
	}{
		"the laboratory":      {authn.Principal{SessionType: authn.LabUser, LabID: 12}, "[1002 1001] of 1000, more: true"},
		"a branch":            {authn.Principal{SessionType: authn.LabUser, LabID: 12, BranchID: 1}, "[1001 999] of 501, more: false"},
		"a referring doctor":  {authn.Principal{SessionType: authn.Doctor, LabID: 12, DocType: &doctor, DoctorID: 2}, "[1001 998] of 334, more: false"},
		"a doctor of no bill": {authn.Principal{SessionType: authn.Doctor, LabID: 12, DocType: &doctor, DoctorID: 9}, "[] of 0, more: false"},
		"an organization":     {authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 3}, "[999 995] of 250, more: false"},
		"a centre":            {authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 2}, "[1002 997] of 201, more: false"},
		"limits of a user":    {authn.Principal{SessionType: authn.LabUser, LabID: 12, OrgID: 3, CCID: 2}, "[987 967] of 50, more: false"},
		"another laboratory":  {authn.Principal{SessionType: authn.LabUser, LabID: 13}, "[] of 0, more: false"},
	} {
		list := read(t, db, c.who, worklist.Page{Limit: 2})
		ids := []int64{}
		for _, e := range list.Entries {
			ids = append(ids, e.id)
		}
		if got := fmt.Sprintf("%v of %d, more: %v", ids, list.Total, list.More); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	last := read(t, db, authn.Principal{SessionType: authn.LabUser, LabID: 12}, worklist.Page{Limit: 2, Before: 3})
	if p := last.Entries[0].patient.Message(time.Now()); p.GetFullName() != "Meena Joshi" || p.GetAge() != "" {
		t.Errorf("patient with a placeholder as birth date: %v, want no age", p)
	}
	if p := last.Entries[1].patient.Message(time.Now()); p.GetFullName() != "" || p.GetUserId() != 0 {
		t.Errorf("patient of another laboratory: %v, want none", p)
	}
}

// TestAHalfBirthDateGivesNoAge uses dates without a month or day, which old programs stored if they knew only the year.
func TestAHalfBirthDateGivesNoAge(t *testing.T) {
	t.Parallel()
	db := template.New(t)
	db.SetMaxOpenConns(1) // so that SET SESSION applies to all statements
	for _, statement := range []string{
		"SET SESSION sql_mode = ''",
		"INSERT INTO userDetails (id, labId_id, fullName, age, dateOfBirth) VALUES (1, 12, 'Baby Joshi', '5 D', '2026-00-00')," +
			" (2, 12, 'Meena Joshi', '', '1990-05-00'), (3, 12, 'Asha Joshi', '', '0000-00-00'), (4, 12, 'Ravi Joshi', '', '1990-05-07')",
		"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id) VALUES (1, 12, 1, 1), (2, 12, 2, 2), (3, 12, 3, 3), (4, 12, 4, 4)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ages := map[string]string{}
	for _, e := range read(t, db, authn.Principal{SessionType: authn.LabUser, LabID: 12}, worklist.Page{Limit: 9}).Entries {
		p := e.patient.Message(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
		ages[p.GetFullName()] = p.GetAge()
	}
	want := map[string]string{"Baby Joshi": "5 D", "Meena Joshi": "", "Asha Joshi": "", "Ravi Joshi": "36 Y"}
	if diff := cmp.Diff(want, ages); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}

type entry struct {
	id      int64
	patient worklist.Patient
}

func read(t *testing.T, db mysqldb.RowsQuerier, who authn.Principal, page worklist.Page) worklist.List[entry] {
	t.Helper()
	sees, _, err := worklist.Asked(who, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := worklist.Read(t.Context(), db, sees, worklist.Query{
		Columns: "b.id, " + worklist.PatientColumns, From: "billing b" + worklist.JoinPatient("b.userDetailsId_id", "b.labId_id"),
		Where: "b.labId_id = ?", Args: []any{sees.Lab.LabID()}, ID: "b.id",
	}, page, func(row mysqldb.Row, e *entry) error {
		return row.Scan(append([]any{&e.id}, e.patient.Targets()...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
