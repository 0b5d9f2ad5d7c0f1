package areas

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/chunk"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

const uploadBufferBytes = 256 << 10 // size of the buffer for reading the body

// uploadFiles is the path for the files of an edited report. The mux generated from the contract does not serve it: its
// handler sends the parts of the multipart form to the RPC as a stream.
var uploadFiles = edge.Upload{
	Route: edge.Route{
		Method: http.MethodPost, Path: "/api-v3/report/external-edit/agent/{edit_id}",
		RPC: "/lab.externaledit.v1.ExternalEditService/UploadFiles",
	},
	MaxBytes: 151 << 20, Deadline: 2 * time.Minute,
}

// registerExternalEdit adds the contract's paths and the form. The form is streamed, with one chunk in memory at a
// time.
func registerExternalEdit(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
	client := externaleditv1.NewExternalEditServiceClient(c)
	if err := externaleditv1.RegisterExternalEditServiceHandlerClient(ctx, mux.ServeMux, client); err != nil {
		return err
	}
	return mux.HandleUpload(uploadFiles.Route, func(ctx context.Context, r *http.Request,
		params map[string]string, headers grpc.CallOption) (proto.Message, error) {
		return upload(ctx, client, r, params["edit_id"], headers)
	})
}

func upload(
	ctx context.Context, client externaleditv1.ExternalEditServiceClient, r *http.Request, editID string,
	headers grpc.CallOption,
) (*externaleditv1.UploadFilesResponse, error) {
	id, err := runtime.Int64(editID)
	if err != nil {
		return nil, invalid(apperr.InvalidField("edit_id", "edit_id must be a whole number"))
	}
	stream, err := client.UploadFiles(ctx, grpc.ForceCodecV2(chunk.Codec()), headers)
	if err != nil {
		return nil, err
	}
	start := &externaleditv1.UploadStart{EditId: id,
		ExternalEditRequest: strings.EqualFold(r.Header.Get("X-Is-External-Edit-Request"), "true")}
	err = stream.Send(&externaleditv1.UploadFilesRequest{Part: &externaleditv1.UploadFilesRequest_Start{Start: start}})
	body := &countedBody{ReadCloser: r.Body}
	if err == nil {
		err = sendForm(stream, r, body)
	}
	switch {
	case errors.Is(err, errResponded): // refused: the rest of the body is not read
	case err == io.EOF, errors.Is(err, errNoForm): //nolint:errorlint // a truncated form wraps io.EOF
		if err := body.drain(); err != nil {
			return nil, invalid(edge.BodyError(err))
		}
	case errors.Is(err, errHeader):
		return nil, invalid(errHeader)
	default:
		return nil, invalid(edge.BodyError(err))
	}
	response, refused := stream.CloseAndRecv()
	if err == errNoForm && status.Code(refused) == codes.InvalidArgument { //nolint:errorlint // by identity, as above
		return nil, invalid(errNoForm)
	}
	return response, refused
}

// errResponded means that the service responded before the form ended.
var errResponded = errors.New("the service responded early")

// errHeader is returned for a part whose header is larger than browsers send.
var errHeader = apperr.New(apperr.Invalid, "PART_HEADER_TOO_LARGE", "the header of a part of the form is larger than 16 KiB")

// errNoForm is returned only to callers who may upload; authorization errors take precedence.
var errNoForm = apperr.New(apperr.Invalid, "NOT_MULTIPART", "send a multipart form with word_file and pdf_file")

// countedBody counts the bytes that were read.
type countedBody struct {
	io.ReadCloser
	read int64
}

var _ io.Reader = (*countedBody)(nil)

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	return n, err
}

// drain reads the rest of the body, up to its maximum size. A form may end before its body does, and the deadline
// starts at the end of the body. Without draining, clients that send the whole body before they read the response would
// see a broken connection instead of an error.
func (b *countedBody) drain() error {
	_, err := io.CopyN(io.Discard, b.ReadCloser, uploadFiles.MaxBytes-b.read)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type uploadStream = grpc.ClientStreamingClient[externaleditv1.UploadFilesRequest, externaleditv1.UploadFilesResponse]

// maxHeaderBytes limits the header of a part. The reader of the form reads 4 KiB ahead.
const maxHeaderBytes = 16<<10 + 4<<10

// buffered reads the body in large steps, because the form's reader would read 4 KiB at a time. left is the number of
// bytes that the header of a part may still have; -1 means no limit.
type buffered struct {
	reader *bufio.Reader
	io.Closer
	left int
}

func (b *buffered) Read(p []byte) (int, error) {
	if b.left < 0 {
		return b.reader.Read(p)
	}
	if b.left == 0 {
		return 0, errHeader
	}
	n, err := b.reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// sendForm sends the parts until the form ends, which is io.EOF, or the service responds, which is errResponded.
func sendForm(stream uploadStream, r *http.Request, body io.ReadCloser) error {
	request := *r // the request keeps the body's limit and errors
	source := &buffered{bufio.NewReaderSize(body, uploadBufferBytes), body, -1}
	request.Body = source
	form, err := request.MultipartReader()
	if err != nil {
		return errNoForm
	}
	for {
		source.left = maxHeaderBytes
		part, err := form.NextRawPart()
		if source.left == 0 {
			return errHeader
		}
		source.left = -1
		if err != nil {
			return err
		}
		if err := sendFile(stream, part); err != nil {
			return err
		}
	}
}

// chunkField is the number of the field of UploadFilesRequest that contains the bytes of the file.
const chunkField = 3

func sendFile(stream uploadStream, part *multipart.Part) error {
	file := &externaleditv1.UploadFile{
		Field: text(part.FormName()), FileName: text(fileName(part)), ContentType: text(part.Header.Get("Content-Type")),
	}
	if err := stream.Send(
		&externaleditv1.UploadFilesRequest{Part: &externaleditv1.UploadFilesRequest_File{File: file}},
	); err != nil {
		return responded(err)
	}
	for {
		message, err := chunk.Read(part, chunkField)
		if message != nil {
			if err := stream.SendMsg(message); err != nil {
				return responded(err)
			}
		}
		if err == io.EOF { //nolint:errorlint // the end of the part; a truncated form wraps it
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// responded maps the io.EOF that Send returns, which means that the service has already responded, to errResponded. The
// form's reader also returns io.EOF, at the end of the form.
func responded(err error) error {
	if err == io.EOF { //nolint:errorlint // as Send documents it
		return errResponded
	}
	return err
}

// fileName returns the file name as sent. Part.FileName would remove a path from it, which the service must see to
// refuse it.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// text replaces invalid UTF-8, which a message cannot carry.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func invalid(e *apperr.Error) error { return rpcerr.ToStatus(e).Err() }
