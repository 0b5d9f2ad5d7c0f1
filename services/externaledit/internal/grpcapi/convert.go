package grpcapi

import (
	"google.golang.org/protobuf/proto"

	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// shown converts an active session to the response of GetSession. token is empty unless the caller is the author.
func shown(s *session.Session, token string) *externaleditv1.GetSessionResponse {
	return &externaleditv1.GetSessionResponse{
		Id: s.ID, WordFilePath: s.Files.Word, PdfFilePath: s.Files.PDF, AuthToken: token, IsActive: 1,
		AuthorName: s.Author.Name, UpdatedAt: s.UpdatedAt.UnixMilli(), Warnings: s.Warnings(),
	}
}

func opened(sessions []session.Session) *externaleditv1.HasOpenSessionResponse {
	out := &externaleditv1.HasOpenSessionResponse{IsOpen: len(sessions) > 0}
	for _, s := range sessions {
		out.Sessions = append(out.Sessions, &externaleditv1.OpenSession{
			EditId: s.ID, LabReportId: s.ReportID, AuthorName: s.Author.Name, CreatedAt: s.CreatedAt.UnixMilli(),
		})
	}
	return out
}

func revisionOf(r *session.Revision) *externaleditv1.Revision {
	out := &externaleditv1.Revision{
		Id: r.ID, EditId: r.SessionID, Revision: r.Number, WordFilePath: r.Word.URL, PdfFilePath: r.PDF.URL,
		WordSize: r.Word.Size, PdfSize: r.PDF.Size, UploadedBy: r.UploadedBy.ID, UploadedByName: r.UploadedBy.Name,
		UploadedAt: r.UploadedAt.UnixMilli(),
	}
	if r.RestoredFrom != 0 {
		out.RestoredFrom = proto.Int64(r.RestoredFrom)
	}
	return out
}
