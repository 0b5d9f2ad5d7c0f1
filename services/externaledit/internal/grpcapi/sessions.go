package grpcapi

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
)

// GetSession returns the report's active session.
func (s *Server) GetSession(
	ctx context.Context, in *externaleditv1.GetSessionRequest,
) (*externaleditv1.GetSessionResponse, error) {
	defer s.begin(ctx, opGet, reportAttribute, in.GetLabReportId())()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.d.Limits.Retrieve(ctx, c.Principal); err != nil {
		return nil, err
	}
	if err := positive("lab_report_id", in.GetLabReportId()); err != nil {
		return nil, err
	}
	if err := s.mayView(ctx, c, in.GetLabReportId()); err != nil {
		return nil, err
	}
	found, err := s.d.Editor.Show(ctx, c.scope, in.GetLabReportId())
	if err != nil {
		return nil, err
	}
	token := ""
	if c.isAuthor(&found) {
		if login := s.d.Logins.Renewed(found.Login, c.Login); login != nil {
			if err := s.d.Editor.Renew(ctx, c.scope, &found, login); err != nil {
				return nil, err
			}
		}
		if token, err = s.d.Editor.Mint(&found); err != nil {
			return nil, err
		}
	}
	return shown(&found, token), nil
}

// CreateSession opens a session of a report.
func (s *Server) CreateSession(
	ctx context.Context, in *externaleditv1.CreateSessionRequest,
) (*externaleditv1.CreateSessionResponse, error) {
	defer s.begin(ctx, opCreate, reportAttribute, in.GetLabReportId())()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.d.Limits.Create(ctx, c.Principal); err != nil {
		return nil, err
	}
	if err := c.mayEdit(); err != nil {
		return nil, err
	}
	if err := checkCreation(in); err != nil {
		return nil, err
	}
	if err := s.mayView(ctx, c, in.GetLabReportId()); err != nil {
		return nil, err
	}
	created, err := s.d.Editor.Create(ctx, editing.Creation{
		Scope: c.scope, ReportID: in.GetLabReportId(), TemplateID: in.GetTemplateId(), Path: in.GetWordS3Filepath(),
		Author: c.author(), TakeOver: in.GetTakeOver(), MayTakeOver: c.mayTakeOver(), Key: idempotency.KeyFrom(ctx),
		Login: s.d.Logins.Seal(c.Login),
	})
	if err != nil {
		return nil, err
	}
	return &externaleditv1.CreateSessionResponse{EditId: created.ID, AuthToken: created.Token,
		TemplatePath: created.TemplateLink, Warnings: created.Warnings}, nil
}

// ListTemplates returns the templates with which a report without a save may begin.
func (s *Server) ListTemplates(
	ctx context.Context, _ *externaleditv1.ListTemplatesRequest,
) (*externaleditv1.ListTemplatesResponse, error) {
	defer s.begin(ctx, opOffer, "templates", 0)()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.d.Limits.Retrieve(ctx, c.Principal); err != nil {
		return nil, err
	}
	if err := c.mayEdit(); err != nil {
		return nil, err
	}
	found, err := s.d.Editor.Templates(ctx, c.scope)
	if err != nil {
		return nil, err
	}
	out := &externaleditv1.ListTemplatesResponse{}
	for _, t := range found {
		message := &externaleditv1.Template{Id: t.ID, Name: t.Name, WordS3Filepath: t.Path}
		if t.TestID != 0 {
			message.TestId = &t.TestID
		}
		out.Templates = append(out.Templates, message)
	}
	return out, nil
}

func checkCreation(in *externaleditv1.CreateSessionRequest) error {
	if err := positive("lab_report_id", in.GetLabReportId()); err != nil {
		return err
	}
	if in.TemplateId == nil {
		return apperr.InvalidField("template_id", "template_id is required")
	}
	if err := positive("template_id", in.GetTemplateId()); err != nil {
		return err
	}
	if in.GetWordS3Filepath() == "" {
		return apperr.InvalidField("word_s3_filepath",
			"word_s3_filepath is required: the storage URL of the template's Word file")
	}
	return nil
}

// header returns the value of a header that the gateway forwards.
func header(ctx context.Context, name string) string {
	if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// EndSession ends a session on behalf of its author.
func (s *Server) EndSession(
	ctx context.Context, in *externaleditv1.EndSessionRequest,
) (*externaleditv1.EndSessionResponse, error) {
	defer s.begin(ctx, opEnd, editAttribute, in.GetEditId())()
	c, err := presented(ctx)
	if err == nil && c.grant != nil && c.grant.Expired {
		c, err = s.callerOf(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := positive("edit_id", in.GetEditId()); err != nil {
		return nil, err
	}
	if c.grant != nil {
		if err := c.grant.CheckSession(in.GetEditId()); err != nil {
			return nil, err
		}
	}
	if err := s.d.Editor.End(ctx, c.scope, in.GetEditId(), c.author()); err != nil {
		return nil, err
	}
	return &externaleditv1.EndSessionResponse{Message: ended}, nil
}

// ForceEndSession ends any user's session on behalf of an administrator.
func (s *Server) ForceEndSession(
	ctx context.Context, in *externaleditv1.ForceEndSessionRequest,
) (*externaleditv1.ForceEndSessionResponse, error) {
	defer s.begin(ctx, opForce, editAttribute, in.GetEditId())()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if !c.mayTakeOver() {
		return nil, errNotAllowedToEnd
	}
	if err := positive("edit_id", in.GetEditId()); err != nil {
		return nil, err
	}
	by := c.author()
	if err := s.d.Editor.Terminate(ctx, editing.Termination{Scope: c.scope, ID: in.GetEditId(), By: by}); err != nil {
		return nil, err
	}
	return &externaleditv1.ForceEndSessionResponse{Message: ended}, nil
}

// ended is the documented message of the response.
const ended = "Session has been inactivated"

// Heartbeat extends a session for its desktop client.
func (s *Server) Heartbeat(
	ctx context.Context, in *externaleditv1.HeartbeatRequest,
) (*externaleditv1.HeartbeatResponse, error) {
	defer s.begin(ctx, opBeat, editAttribute, in.GetEditId())()
	c, grant, err := s.holder(ctx, in.GetEditId())
	if err != nil {
		return nil, err
	}
	if err := s.d.Limits.Beat(ctx, in.GetEditId()); err != nil {
		return nil, err
	}
	beaten, token, err := s.d.Editor.Heartbeat(ctx, c.scope, grant, in.GetEditId())
	if err != nil {
		return nil, err
	}
	return &externaleditv1.HeartbeatResponse{ExpiresAt: beaten.ExpiresAt.UnixMilli(), AuthToken: token,
		Warnings: beaten.Warnings()}, nil
}

const maxReports = 1000

// HasOpenSession returns the active sessions of the reports, for other services.
func (s *Server) HasOpenSession(
	ctx context.Context, in *externaleditv1.HasOpenSessionRequest,
) (*externaleditv1.HasOpenSessionResponse, error) {
	defer s.begin(ctx, opHasOpen, "reports", int64(len(in.GetLabReportIds())))()
	scope, err := authn.FromContext(ctx).Scope(in.GetLabId())
	if err != nil {
		return nil, err
	}
	if len(in.GetLabReportIds()) > maxReports {
		return nil, apperr.InvalidField("lab_report_ids", "lab_report_ids has more than 1,000 reports; ask in parts")
	}
	held, err := s.d.Editor.Held(ctx, scope, in.GetLabReportIds())
	if err != nil {
		return nil, err
	}
	return opened(held), nil
}
