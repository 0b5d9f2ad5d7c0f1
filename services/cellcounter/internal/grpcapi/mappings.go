package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// GetMappings returns the mappings in effect for a test.
func (s *Server) GetMappings(
	ctx context.Context,
	in *cellcounterv1.GetMappingsRequest,
) (*cellcounterv1.GetMappingsResponse, error) {
	defer s.begin(ctx, opRead, in.GetTestId(), 0)()
	named, err := oneLab(in.LabId, nil) //nolint:protogetter // absent differs from 0
	if err != nil {
		return nil, err
	}
	owner, err := reads(authn.FromContext(ctx), named)
	if err != nil {
		return nil, err
	}
	if in.GetTestId() <= 0 {
		return nil, errNoTest
	}
	view, err := s.d.Configurer.Read(ctx, in.GetTestId(), owner)
	if err != nil {
		return nil, err
	}
	return viewed(view), nil
}

// SaveMappings inserts or replaces complete mappings.
func (s *Server) SaveMappings(
	ctx context.Context,
	in *cellcounterv1.SaveMappingsRequest,
) (*cellcounterv1.SaveMappingsResponse, error) {
	out, err := s.write(ctx, in.GetTestId(), in.LabId, in.GetBody(), true)
	if err != nil {
		return nil, err
	}
	return &cellcounterv1.SaveMappingsResponse{
		Message: "Cell counter mappings saved successfully", Inserted: int32(out.Inserted), Updated: int32(out.Updated),
		Mappings: mappingsOf(out.Rows), Warnings: warningsOf(out.Warnings),
	}, nil
}

// PatchMappings inserts mappings or updates parts of them.
func (s *Server) PatchMappings(
	ctx context.Context,
	in *cellcounterv1.PatchMappingsRequest,
) (*cellcounterv1.PatchMappingsResponse, error) {
	out, err := s.write(ctx, in.GetTestId(), in.LabId, in.GetBody(), false)
	if err != nil {
		return nil, err
	}
	return &cellcounterv1.PatchMappingsResponse{
		Message: "Cell counter mappings updated successfully", Inserted: int32(out.Inserted), Updated: int32(out.Updated),
		Mappings: mappingsOf(out.Rows), Warnings: warningsOf(out.Warnings),
	}, nil
}

// confirmReset is the value of confirm that deletes all mappings of a laboratory.
const confirmReset = "reset"

// errUnconfirmed is returned for a path that ends after the test, unless the request confirms the reset. Such a path
// may be that of the keys . or .., because clients shorten these.
var errUnconfirmed = apperr.InvalidField("confirm", "Without a key this deletes all mappings of the laboratory for this test;"+
	" add ?confirm=reset to do so, or name the key as ?key=")

// ResetMappings deletes a laboratory's own mappings, so that the defaults apply. If the query has a key, it deletes
// only that key's mapping.
func (s *Server) ResetMappings(
	ctx context.Context, in *cellcounterv1.ResetMappingsRequest,
) (*cellcounterv1.ResetMappingsResponse, error) {
	defer s.begin(ctx, opReset, in.GetTestId(), 0)()
	owner, err := s.changes(ctx, in.GetTestId(), in.LabId, nil)
	if err != nil {
		return nil, err
	}
	if in.Key != nil {
		return s.removeNamed(ctx, in.GetTestId(), owner, in.GetKey())
	}
	if in.GetConfirm() != confirmReset {
		return nil, errUnconfirmed
	}
	deleted, view, err := s.d.Configurer.Reset(ctx, in.GetTestId(), owner)
	if err != nil {
		return nil, err
	}
	return &cellcounterv1.ResetMappingsResponse{
		Message: "The laboratory counts with the defaults again", Deleted: int32(deleted),
		Mappings: mappingsOf(view.Rows), TargetCount: int32(view.Target),
	}, nil
}

func (s *Server) removeNamed(
	ctx context.Context, testID int64, owner mapping.Owner, key string,
) (*cellcounterv1.ResetMappingsResponse, error) {
	left, err := s.d.Configurer.Remove(ctx, testID, owner, mapping.StoredKey(key))
	if err != nil {
		return nil, err
	}
	view, err := s.d.Configurer.Read(ctx, testID, owner)
	if err != nil {
		return nil, err
	}
	return &cellcounterv1.ResetMappingsResponse{
		Message: deletedMapping, Deleted: 1, Mappings: mappingsOf(left), TargetCount: int32(view.Target),
	}, nil
}

const deletedMapping = "Cell counter mapping deleted successfully"

// DeleteMapping removes the mapping of one key.
func (s *Server) DeleteMapping(
	ctx context.Context, in *cellcounterv1.DeleteMappingRequest,
) (*cellcounterv1.DeleteMappingResponse, error) {
	defer s.begin(ctx, opDelete, in.GetTestId(), 0)()
	owner, err := s.changes(ctx, in.GetTestId(), in.LabId, nil)
	if err != nil {
		return nil, err
	}
	left, err := s.d.Configurer.Remove(ctx, in.GetTestId(), owner, mapping.StoredKey(in.GetKey()))
	if err != nil {
		return nil, err
	}
	return &cellcounterv1.DeleteMappingResponse{
		Message: deletedMapping, Mappings: mappingsOf(left),
	}, nil
}

// changes returns the owner whose mappings the request changes, or an error if the caller may not change them.
func (s *Server) changes(ctx context.Context, testID int64, queryLab, bodyLab *int64) (mapping.Owner, error) {
	named, err := oneLab(queryLab, bodyLab)
	if err != nil {
		return mapping.Owner{}, err
	}
	owner, err := s.d.DefaultScope.writes(authn.FromContext(ctx), named)
	if err == nil && testID <= 0 {
		err = errNoTest
	}
	return owner, err
}

func (s *Server) write(
	ctx context.Context, testID int64, queryLab *int64, body *cellcounterv1.MappingsBody, complete bool,
) (configure.Decision, error) {
	defer s.begin(ctx, opWrite, testID, 0)()
	var bodyLab *int64
	if body != nil {
		bodyLab = body.LabId
	}
	owner, err := s.changes(ctx, testID, queryLab, bodyLab)
	if err != nil {
		return configure.Decision{}, err
	}
	elements, err := elementsOf(body.GetMappings())
	if err != nil {
		return configure.Decision{}, err
	}
	w := configure.Write{
		TestID:       testID,
		Owner:        owner,
		Elements:     elements,
		Complete:     complete,
		CopyDefaults: body.GetCopyDefaults(),
		Actor:        authn.FromContext(ctx).Actor(),
	}
	if body != nil && body.TargetCount != nil {
		target := int(body.GetTargetCount())
		w.Target = &target
	}
	return s.d.Configurer.Write(ctx, w)
}

// ListCells lists all cells. The caller needs a laboratory.
func (s *Server) ListCells(
	ctx context.Context,
	_ *cellcounterv1.ListCellsRequest,
) (*cellcounterv1.ListCellsResponse, error) {
	defer s.begin(ctx, opCells, 0, 0)()
	if _, err := authn.FromContext(ctx).Scope(0); err != nil {
		return nil, err
	}
	cells, err := s.d.Configurer.Cells(ctx)
	if err != nil {
		return nil, err
	}
	return &cellcounterv1.ListCellsResponse{Cells: cellsOf(cells)}, nil
}
