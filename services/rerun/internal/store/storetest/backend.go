package storetest

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
)

// Locked is everything that a locked report can do; each use case sees a part of it.
type Locked interface {
	closing.Locked
	receive.Evidence
}

// Reports is what every relational store must offer.
type Reports interface {
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
	LogFailure(ctx context.Context, scope authn.LabScope, reportID int64, entry activitylog.Entry) error
	Flag(ctx context.Context, scope authn.LabScope, reportID int64) (rerun.Flag, error)
	PresentValues(ctx context.Context, scope authn.LabScope, reportID int64) (map[int]string, error)
	Lead(ctx context.Context, work func(context.Context) error) error
	Laboratories(ctx context.Context) ([]int64, error)
	OpenLaboratories(ctx context.Context) ([]int64, error)
	Flags(ctx context.Context, scope authn.LabScope, reportIDs []int64) (map[int64]rerun.Flag, error)
	OpenReports(ctx context.Context, scope authn.LabScope, after int64, limit int) (map[int64]rerun.Flag, error)
}

// OpenSet is what every cache must offer.
type OpenSet interface {
	Set(ctx context.Context, scope authn.LabScope, reportID int64, open bool) error
	Entries(ctx context.Context, scope authn.LabScope) ([]int64, error)
}

// Fixture prepares and reads what no use case does.
type Fixture interface {
	// Put adds a report of the tests 301 and, as a profile, 302; one that is there it replaces.
	Put(row memory.Row)
	// Get returns a report; its log in the order of the entries.
	Get(id int64) memory.Row
	AddParameter(p rerun.Parameter)
	// Disown makes every record another program's.
	Disown()
}

// Backend is the stores of one service.
type Backend struct {
	Reports   Reports
	Documents Documents
	OpenSet   OpenSet
	Fixture   Fixture
}

// Open makes empty stores.
type Open func(t testing.TB, c clock.Clock) Backend

// Memory opens stores in memory.
func Memory(testing.TB, clock.Clock) Backend {
	reports, documents := memory.NewReports(), memory.NewDocuments()
	return Backend{Reports: memoryReports{reports}, Documents: documents, OpenSet: memory.NewOpenSet(),
		Fixture: memoryFixture{reports, documents}}
}

type memoryReports struct{ *memory.Reports }

func (m memoryReports) Lock(ctx context.Context, scope authn.LabScope, id int64, work func(Locked) error) error {
	return m.Reports.Lock(ctx, scope, id, func(l *memory.Locked) error { return work(l) })
}

type memoryFixture struct {
	*memory.Reports
	documents *memory.Documents
}

func (m memoryFixture) Get(id int64) memory.Row {
	row, _ := m.Reports.Get(id)
	return row
}

func (m memoryFixture) Disown() { m.documents.Disown() }

// Ids of the seeded rows. Report and OtherReport are of laboratory 12, ForeignReport of laboratory 13.
const (
	Report        = 7001
	OtherReport   = 7002
	ForeignReport = 8001
	Patient       = 501
)

// Tests of the seeded reports.
const (
	Profile = 301
	Child   = 302
)

// Row returns a report of laboratory 12, a profile of both tests, with sample S-1.
func Row(id int64) memory.Row {
	return memory.Row{Tests: []int64{Profile, Child}, Report: rerun.Report{
		ID: id, LabID: 12, BillID: 401, PatientID: Patient, SampleID: "S-1",
	}}
}

// seed adds the reports and parameters that tests begin with.
func seed(f Fixture) {
	plain, foreign := Row(OtherReport), Row(ForeignReport)
	plain.SampleID, plain.Tests = "S-2", []int64{Profile}
	foreign.LabID, foreign.BillID, foreign.PatientID, foreign.SampleID, foreign.Tests = 13, 402, 601, "S-3", []int64{303}
	for _, row := range []memory.Row{Row(Report), plain, foreign} {
		f.Put(row)
	}
	for _, p := range []rerun.Parameter{
		{TestID: Profile, Index: 1, Order: 1, Name: "Haemoglobin"},
		{TestID: Profile, Index: 3, Order: 2, Name: "White cells"},
		{TestID: Child, Index: 8, Order: 1, Name: "ESR"}, {TestID: 303, Index: 9, Order: 1, Name: "Foreign"},
	} {
		f.AddParameter(p)
	}
}
