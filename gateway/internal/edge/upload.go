package edge

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

const uploadChunkBytes = 64 << 10

// registerUpload adds the multipart path. The form is streamed: nothing is buffered beyond one chunk.
func (m *muxer) registerUpload(connection grpc.ClientConnInterface) error {
	client := externaleditv1.NewExternalEditServiceClient(connection)
	return m.HandlePath(http.MethodPost, uploadPath, func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		ctx, err := runtime.AnnotateContext(r.Context(), m.ServeMux, r, uploadRPC, runtime.WithHTTPPathPattern(uploadPath))
		if err != nil {
			m.handleError(r.Context(), m.ServeMux, codec{}, w, r, err)
			return
		}
		answer, err := upload(ctx, client, r, params["edit_id"])
		if err != nil {
			m.handleError(ctx, m.ServeMux, codec{}, w, r, err)
			return
		}
		runtime.ForwardResponseMessage(ctx, m.ServeMux, codec{}, w, r, answer, m.GetForwardResponseOptions()...)
	})
}

func upload(ctx context.Context, client externaleditv1.ExternalEditServiceClient, r *http.Request, editID string) (*externaleditv1.UploadFilesResponse, error) {
	id, err := runtime.Int64(editID)
	if err != nil {
		return nil, invalid(apperr.InvalidField("edit_id", "edit_id must be a whole number"))
	}
	stream, err := client.UploadFiles(ctx)
	if err != nil {
		return nil, err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, invalid(apperr.New(apperr.Invalid, "NOT_MULTIPART", "send a multipart form with word_file and pdf_file"))
	}
	start := &externaleditv1.UploadStart{EditId: id, ExternalEditRequest: r.Header.Get("X-Is-External-Edit-Request") == "true"}
	err = stream.Send(&externaleditv1.UploadFilesRequest{Part: &externaleditv1.UploadFilesRequest_Start{Start: start}})
	for err == nil {
		var part *multipart.Part
		if part, err = form.NextPart(); err == nil {
			err = sendFile(stream, part)
		}
	}
	// io.EOF: the form ended, or the service answered early; both are told by its answer.
	if !errors.Is(err, io.EOF) {
		return nil, invalid(bodyError(err))
	}
	return stream.CloseAndRecv()
}

func sendFile(stream grpc.ClientStreamingClient[externaleditv1.UploadFilesRequest, externaleditv1.UploadFilesResponse], part *multipart.Part) error {
	file := &externaleditv1.UploadFile{Field: part.FormName(), FileName: part.FileName(), ContentType: part.Header.Get("Content-Type")}
	if err := stream.Send(&externaleditv1.UploadFilesRequest{Part: &externaleditv1.UploadFilesRequest_File{File: file}}); err != nil {
		return err
	}
	buffer := make([]byte, uploadChunkBytes)
	for {
		n, err := part.Read(buffer)
		if n > 0 {
			chunk := &externaleditv1.UploadFilesRequest{Part: &externaleditv1.UploadFilesRequest_Chunk{Chunk: buffer[:n]}}
			if err := stream.Send(chunk); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func invalid(e *apperr.Error) error { return rpcerr.ToStatus(e).Err() }
