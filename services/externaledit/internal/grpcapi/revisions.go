package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Default and maximum number of revisions in a page.
const (
	usualRevisions = 50
	maxRevisions   = 200
)

// ListRevisions returns a page of the saves of a report, the newest first.
func (s *Server) ListRevisions(
	ctx context.Context, in *externaleditv1.ListRevisionsRequest,
) (*externaleditv1.ListRevisionsResponse, error) {
	defer s.begin(ctx, opList, reportAttribute, in.GetLabReportId())()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.d.Limits.List(ctx, c.Principal); err != nil {
		return nil, err
	}
	if err := positive("lab_report_id", in.GetLabReportId()); err != nil {
		return nil, err
	}
	if err := s.mayView(ctx, c, in.GetLabReportId()); err != nil {
		return nil, err
	}
	p, err := pageOf(in)
	if err != nil {
		return nil, err
	}
	revisions, linked, err := s.d.Historian.List(ctx, c.scope, in.GetLabReportId(), p)
	if err != nil {
		return nil, err
	}
	out := &externaleditv1.ListRevisionsResponse{}
	for _, r := range revisions {
		message := revisionOf(&r)
		message.IsCurrent = r.ID == linked
		// Documents of the previous patient are not for readers of the present one.
		if !r.Moved && (c.grant != nil || c.mayEdit() == nil) {
			if err := s.addLinks(ctx, c.scope, message, r.Files()); err != nil {
				return nil, err
			}
		}
		out.Revisions = append(out.Revisions, message)
	}
	return out, nil
}

func pageOf(in *externaleditv1.ListRevisionsRequest) (session.Page, error) {
	p := session.Page{Limit: usualRevisions}
	if in.Limit != nil {
		p.Limit = int(in.GetLimit())
	}
	if p.Limit < 1 || p.Limit > maxRevisions {
		return p, apperr.InvalidField("limit", "limit must be from 1 to 200")
	}
	if in.Before == nil {
		return p, nil
	}
	p.Before = in.GetBefore()
	return p, positive("before", p.Before)
}

func (s *Server) addLinks(
	ctx context.Context, scope authn.LabScope, message *externaleditv1.Revision, f session.Files,
) (err error) {
	if message.WordUrl, err = s.link(ctx, scope, f.Word); err != nil {
		return err
	}
	message.PdfUrl, err = s.link(ctx, scope, f.PDF)
	return err
}

func (s *Server) link(ctx context.Context, scope authn.LabScope, url string) (string, error) {
	key, err := s.d.Linker.Parse(url)
	if err != nil { // the file is in a store that was replaced
		return "", nil //nolint:nilerr // the list is returned without this link
	}
	return s.d.Linker.Link(ctx, scope, key)
}

// RestoreRevision links the files of an earlier save to the report again.
func (s *Server) RestoreRevision(
	ctx context.Context, in *externaleditv1.RestoreRevisionRequest,
) (*externaleditv1.RestoreRevisionResponse, error) {
	defer s.begin(ctx, opRestore, reportAttribute, in.GetLabReportId())()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if !c.mayTakeOver() {
		return nil, history.ErrNotAllowed
	}
	if err := positive("lab_report_id", in.GetLabReportId()); err != nil {
		return nil, err
	}
	if err := positive("revision_id", in.GetRevisionId()); err != nil {
		return nil, err
	}
	restored, err := s.d.Historian.Restore(ctx, history.Restoration{
		Scope: c.scope, ReportID: in.GetLabReportId(), RevisionID: in.GetRevisionId(),
		By: c.author(), Login: c.Login, GlobalAdmin: c.IsGlobalAdmin,
	})
	if err != nil {
		return nil, err
	}
	message := revisionOf(&restored.Revision)
	message.IsCurrent = true
	if err := s.addLinks(ctx, c.scope, message, restored.Files()); err != nil {
		return nil, err
	}
	return &externaleditv1.RestoreRevisionResponse{Message: "Revision restored successfully", Revision: message,
		Warnings: restored.Warnings}, nil
}
