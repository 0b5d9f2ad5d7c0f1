package app_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
		_, err := c.SaveCount(ctx, &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: 1,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: counted}}})
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
	"a key of a novel": func(ctx context.Context, c cellcounterv1.CellCounterServiceClient) error {
		_, err := c.SaveMappings(ctx, &cellcounterv1.SaveMappingsRequest{TestId: 55, Body: &cellcounterv1.MappingsBody{LabId: proto.Int64(12),
			Mappings: []*cellcounterv1.MappingInput{{Key: proto.String("Canary key"), CellId: proto.Int64(1), ReportFormatIndex: proto.Int32(1)}}}})
		return err
	},
}

// TestWhoMayCallAndNothingOfAPatientIsTold plays every operation as every caller.
func TestWhoMayCallAndNothingOfAPatientIsTold(t *testing.T) {
	t.Parallel()
	r, client := start(t)
	const ok, forbidden, invalid, absent, anonymous = codes.OK, codes.PermissionDenied, codes.InvalidArgument, codes.NotFound, codes.Unauthenticated
	order := []string{"map", "mappings", "cells", "count", "counts", "differential", "a key of a novel"}
	for _, c := range []struct {
		caller string
		ctx    context.Context
		want   []codes.Code
	}{
		{"who configures", r.Session("chief", chief), []codes.Code{ok, ok, ok, ok, ok, ok, invalid}},
		{"a technician", r.Session("asha", asha), []codes.Code{forbidden, ok, ok, ok, ok, ok, forbidden}},
		{"another laboratory", r.Session("other", other), []codes.Code{forbidden, absent, ok, absent, absent, ok, forbidden}},
		{"nobody", t.Context(), []codes.Code{anonymous, anonymous, anonymous, anonymous, anonymous, anonymous, anonymous}},
	} {
		for i, name := range order {
			if err := operations[name](c.ctx, client); status.Code(err) != c.want[i] {
				t.Errorf("%s as %s: %v, want %v", name, c.caller, err, c.want[i])
			}
		}
	}
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
