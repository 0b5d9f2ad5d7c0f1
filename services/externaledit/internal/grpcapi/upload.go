package grpcapi

import (
	"bytes"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/chunk"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

type uploadStream = grpc.ClientStreamingServer[externaleditv1.UploadFilesRequest, externaleditv1.UploadFilesResponse]

var (
	errNoStart = apperr.New(apperr.Invalid, "UPLOAD_START_MISSING", "the first message of an upload must be its start")
	errOrder   = apperr.New(apperr.Invalid, "UPLOAD_OUT_OF_ORDER", "a chunk must follow the file that it belongs to")
	errNoAgent = apperr.New(apperr.Invalid, "AGENT_HEADER_MISSING",
		"send the header X-IS-EXTERNAL-EDIT-REQUEST: true, as the desktop client does")
)

// UploadFiles receives the files of a save and links them to the report.
func (s *Server) UploadFiles(stream uploadStream) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) || (err == nil && first.GetStart() == nil) {
		return errNoStart
	}
	if err != nil {
		return err
	}
	start := first.GetStart()
	defer s.begin(stream.Context(), opUpload, editAttribute, start.GetEditId())()
	c, grant, err := s.holder(stream.Context(), start.GetEditId())
	if err != nil {
		return err
	}
	s.d.Observer.Agent(start.GetExternalEditRequest())
	if s.d.RequireAgentHeader && !start.GetExternalEditRequest() {
		return errNoAgent
	}
	saved, err := s.d.Uploader.Save(stream.Context(), c.scope, grant, start.GetEditId(), &form{stream: stream})
	if err != nil {
		return err
	}
	message := "Files uploaded and linked successfully"
	if saved.Outcome == upload.Overtaken {
		message = "Files uploaded; a newer save of this session is linked"
	}
	return stream.SendAndClose(&externaleditv1.UploadFilesResponse{
		Message: message, WordS3Path: saved.Word, PdfS3Path: saved.PDF, Warnings: saved.Warnings,
	})
}

// chunkField is the number of the field of UploadFilesRequest that carries bytes.
const chunkField = 3

// form reads the parts of an upload.Form from the stream.
type form struct {
	stream uploadStream
	file   *externaleditv1.UploadFile // the next file, received while the previous body was read
	chunk  io.Reader                  // unread rest of the last message; it ends with io.EOF
	end    error
}

var _ upload.Form = (*form)(nil)

func (f *form) Next() (upload.Part, error) {
	for f.file == nil {
		f.chunk = nil // drops the unread rest of the previous part
		if err := f.receive(); err != nil {
			return upload.Part{}, err
		}
	}
	part := upload.Part{Field: f.file.GetField(), FileName: f.file.GetFileName(), ContentType: f.file.GetContentType(),
		Body: body{f}}
	f.file = nil
	return part, nil
}

// receive reads the next message. It returns io.EOF at the end of the stream.
func (f *form) receive() error {
	if f.end != nil {
		return f.end
	}
	message := &externaleditv1.UploadFilesRequest{}
	in := chunk.In{Field: chunkField, Message: message}
	if err := f.stream.RecvMsg(&in); err != nil {
		f.end = err
		return err
	}
	if in.Data != nil {
		f.chunk = in.Data
		return nil
	}
	switch part := message.GetPart().(type) {
	case *externaleditv1.UploadFilesRequest_File:
		f.file = part.File
	case *externaleditv1.UploadFilesRequest_Chunk:
		f.chunk = bytes.NewReader(part.Chunk)
	default:
		f.end = errOrder
	}
	return f.end
}

// body reads the bytes of a file, up to the next file or the end of the stream.
type body struct{ f *form }

var _ io.Reader = (*body)(nil)

func (b body) Read(p []byte) (int, error) {
	for {
		if b.f.chunk != nil {
			if n, err := b.f.chunk.Read(p); n > 0 || err == nil {
				return n, err
			}
			b.f.chunk = nil
		}
		if b.f.file != nil {
			return 0, io.EOF
		}
		if err := b.f.receive(); err != nil {
			return 0, err
		}
	}
}
