package app_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/app"
)

const (
	chief = `{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"username":"canaryname","full_name":"Canary Fullname",` +
		`"permissions":["cell_counter_configure"]}`
	asha  = `{"session_type":"lab_user","lab_id":12,"lab_user_id":78,"full_name":"Canary Technician"}`
	other = `{"session_type":"lab_user","lab_id":13,"lab_user_id":87,"permissions":["cell_counter_configure"]}`
)

func start(t *testing.T) (*servicetest.Running, cellcounterv1.CellCounterServiceClient) {
	t.Helper()
	r := servicetest.Start(t, servicetest.Service[app.Config]{
		Name: app.Service.Name, Prefix: app.Service.Prefix, Load: app.Service.Load, Migrate: app.Service.Migrate, Serve: app.Service.Serve,
		Rows: []string{
			"INSERT INTO AllTests (id, labId_id, testName) VALUES (55, 12, 'Canary test')",
			"INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName, isDisabled) VALUES (5501,55,1,1,'Canary parameter',0)",
			"INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id) VALUES (7001, 12, 1, 1, 1, 55)",
		},
	})
	return r, cellcounterv1.NewCellCounterServiceClient(r.Conn)
}

const counted = 137

var operations = map[string]func(context.Context, cellcounterv1.CellCounterServiceClient) error{
	"map": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.SaveMappings(ctx, &cellcounterv1.SaveMappingsRequest{TestId: 55, Body: &cellcounterv1.MappingsBody{LabId: proto.Int64(12),
			Mappings: []*cellcounterv1.MappingInput{{Key: proto.String("n"), CellId: proto.Int64(1), ReportFormatIndex: proto.Int32(1), ReportFormatOrder: proto.Int32(1)}}}})
		return err
	},
	"mappings": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.GetMappings(ctx, &cellcounterv1.GetMappingsRequest{TestId: 55})
		return err
	},
	"cells": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.ListCells(ctx, &cellcounterv1.ListCellsRequest{})
		return err
	},
	"count": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		in := &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: 1,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: counted}}}
		if seen, err := c.GetCounts(ctx, &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001}); err != nil {
			return err
		} else if len(seen.GetObservers()) > 0 {
			in.IfVersion = proto.Int64(seen.GetObservers()[0].GetVersion())
		}
		_, err := c.SaveCount(ctx, in)
		return err
	},
	"counts": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.GetCounts(ctx, &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001})
		return err
	},
	"differential": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.ComputeDifferential(ctx, &cellcounterv1.ComputeDifferentialRequest{TestId: 55,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: counted}}, Wbc: proto.Float64(7.135792468)})
		return err
	},
	"a key that is too long": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.SaveMappings(ctx, &cellcounterv1.SaveMappingsRequest{TestId: 55, Body: &cellcounterv1.MappingsBody{LabId: proto.Int64(12),
			Mappings: []*cellcounterv1.MappingInput{{Key: proto.String("Canary key"), CellId: proto.Int64(1), ReportFormatIndex: proto.Int32(1)}}}})
		return err
	},
}

const (
	ok              = codes.OK
	forbidden       = codes.PermissionDenied
	invalid         = codes.InvalidArgument
	absent          = codes.NotFound
	unauthenticated = codes.Unauthenticated
)

// access returns, for each operation, the callers that get each code.
func access() map[string]map[codes.Code]string {
	const everyone, unpermitted = "configurer, technician, another laboratory", "technician, another laboratory"
	report := map[codes.Code]string{ok: "configurer, technician", absent: "another laboratory"}
	table := map[string]map[codes.Code]string{
		"map":                    {ok: "configurer", forbidden: unpermitted},
		"a key that is too long": {invalid: "configurer", forbidden: unpermitted},
		"mappings":               report, "count": report, "counts": report,
		"cells":        {ok: everyone},
		"differential": {ok: everyone},
	}
	for _, callers := range table {
		callers[unauthenticated] = "no one"
	}
	return table
}

// TestAccessAndPatientData makes every call as every caller. It checks the codes, and that logs, traces and metrics
// contain no patient data.
func TestAccessAndPatientData(t *testing.T) {
	t.Parallel()
	r, client := start(t)
	calls, allowed := map[string]servicetest.Operation{}, access()
	for name, call := range operations {
		calls[name] = servicetest.Operation{
			Call: func(ctx context.Context) error { return call(ctx, client) }, Callers: allowed[name],
		}
	}
	servicetest.Access(t, map[string]context.Context{
		"configurer": r.Session("chief", chief), "technician": r.Session("asha", asha),
		"another laboratory": r.Session("other", other), "no one": t.Context(),
	}, calls, "Canary")
	if metrics := r.Get("/metrics"); !strings.Contains(metrics, `cellcounter_mappings_saved_total{change="inserted"} 1`) {
		t.Error("the saved mapping is not counted")
	}
	r.KeepsSecret("Canary", "canaryname", "7.135792468")
}

func TestAnUnknownScopeIsNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Service.Load([]string{"CELL_COUNTER_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss", "CELL_COUNTER_DEFAULT_SCOPE=everybody"})
	if err == nil || !strings.Contains(err.Error(), "DEFAULT_SCOPE") {
		t.Error(err)
	}
}
