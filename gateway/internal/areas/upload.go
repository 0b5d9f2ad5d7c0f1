package areas

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

const uploadChunkBytes = 64 << 10

// uploadFiles is the one path that is not an RPC binding: a multipart form feeds a stream.
var uploadFiles = edge.Upload{
	Route: edge.Route{
		Method: http.MethodPost, Path: "/api-v3/report/external-edit/agent/{edit_id}",
		RPC: "/lab.externaledit.v1.ExternalEditService/UploadFiles",
	},
	MaxBytes: 151 << 20, Deadline: 2 * time.Minute,
}

// registerExternalEdit adds the contract's paths and the form. The form is streamed: nothing is buffered beyond one chunk.
func registerExternalEdit(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
	client := externaleditv1.NewExternalEditServiceClient(c)
	if err := externaleditv1.RegisterExternalEditServiceHandlerClient(ctx, mux.ServeMux, client); err != nil {
		return err
	}
	return mux.HandleUpload(uploadFiles.Route, func(ctx context.Context, r *http.Request, params map[string]string) (proto.Message, error) {
		return upload(ctx, client, r, params["edit_id"])
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
		return nil, invalid(edge.BodyError(err))
	}
	// A form may end before its body does; the time for the answer begins with the end of the body.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, invalid(edge.BodyError(err))
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
