package grpcapi_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	"github.com/labplatform/labplatform/services/cdc/internal/grpcapi"
)

type recomputer struct {
	lab int64
	ids []int64
}

func (r *recomputer) RecomputeIn(_ context.Context, scope authn.LabScope, ids []int64) (int, error) {
	r.lab, r.ids = scope.LabID(), ids
	return len(ids) - 1, nil // one id belongs to another laboratory
}

func TestSyncUsersIsForServicesAndOneLaboratory(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		caller authn.Principal
		in     *cdcv1.SyncUsersRequest
		kind   apperr.Kind
	}{
		{"a user", authn.Principal{Kind: authn.Session, LabID: 12}, &cdcv1.SyncUsersRequest{UserIds: []int64{1}}, apperr.Forbidden},
		{"no laboratory", authn.Principal{Kind: authn.Service}, &cdcv1.SyncUsersRequest{UserIds: []int64{1}}, apperr.Invalid},
		{"no one", authn.Principal{Kind: authn.Service}, &cdcv1.SyncUsersRequest{LabId: 12}, apperr.Invalid},
		{"too many", authn.Principal{Kind: authn.Service}, &cdcv1.SyncUsersRequest{LabId: 12, UserIds: slices.Repeat([]int64{1}, 1001)}, apperr.Invalid},
		{"no id", authn.Principal{Kind: authn.Service}, &cdcv1.SyncUsersRequest{LabId: 12, UserIds: []int64{0}}, apperr.Invalid},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &recomputer{}
			_, err := grpcapi.New(r).SyncUsers(authn.NewContext(t.Context(), test.caller), test.in)
			var answer *apperr.Error
			if !errors.As(err, &answer) || answer.Kind != test.kind || r.ids != nil {
				t.Errorf("error %v, recomputed %v", err, r.ids)
			}
		})
	}
	r := &recomputer{}
	out, err := grpcapi.New(r).SyncUsers(authn.NewContext(t.Context(), authn.Principal{Kind: authn.Service, Caller: "rerun"}),
		&cdcv1.SyncUsersRequest{LabId: 12, UserIds: []int64{501, 502}})
	if err != nil || out.GetSynced() != 1 || r.lab != 12 || !slices.Equal(r.ids, []int64{501, 502}) {
		t.Errorf("%v, %v, laboratory %d, %v", out, err, r.lab, r.ids)
	}
}
