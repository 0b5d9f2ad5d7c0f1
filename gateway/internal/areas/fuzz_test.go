package areas_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/chunk"
	"github.com/labplatform/labplatform/pkg/testkit/allocation"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

// formReader replaces the services. It reads every message and responds to each call.
type formReader struct{ backend }

func (r *formReader) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &formStream{ctx: ctx}, nil
}

type formStream struct{ ctx context.Context }

func (s *formStream) Header() (metadata.MD, error) { return nil, nil }
func (s *formStream) Trailer() metadata.MD         { return nil }
func (s *formStream) CloseSend() error             { return nil }
func (s *formStream) Context() context.Context     { return s.ctx }

// SendMsg encodes and frees the message, as the transport does. A file's name and type come from the header of a part.
func (s *formStream) SendMsg(m any) error {
	if file, ok := m.(*externaleditv1.UploadFilesRequest); ok && len(file.GetFile().GetFileName()) > 20<<10 {
		return errors.New("a header above its limit was read")
	}
	encoded, err := chunk.Codec().Marshal(m)
	if err == nil {
		encoded.Free()
	}
	return err
}

func (s *formStream) RecvMsg(any) error { return nil }

// formMemory is the memory in bytes that a form may allocate in addition to a multiple of its size, for the buffers of
// an upload.
const formMemory = 3 << 20

// The fuzz test checks that each form gets a success or a client error, and costs little memory.
func FuzzAFormIsReadWithinBounds(f *testing.F) {
	part := func(header, content string) string { return "--xx\r\n" + header + "\r\n\r\n" + content + "\r\n" }
	word := `Content-Disposition: form-data; name="word_file"; filename="a.docx"`
	for _, body := range []string{
		"", "--xx--\r\n", part(word, "PK\x03\x04") + "--xx--\r\n", part(word+"\r\nX-A: "+strings.Repeat("A", 32<<10), "x"),
		"--xx\r\n" + word + "\r\nX-A: " + strings.Repeat("A", 64<<10), part(strings.Repeat("A: b\r\n", 2000)+word, "x"),
		strings.Repeat("--xx\r\n\r\n\r\n", 2000), part(word+"\r\nContent-Transfer-Encoding: quoted-printable", "=41=\r\n=0"),
		part(`Content-Disposition: form-data; name*=utf-8''%ff; filename*0="a"; filename*1="b"`, "x"),
		part(`Content-Disposition: form-data; name="userNotificationPreferences"`, "[]") + "--xx--",
	} {
		f.Add("multipart/form-data; boundary=xx", body)
	}
	f.Add("application/x-www-form-urlencoded", "labUserId=7&userNotificationPreferences=%5B%5D")
	f.Add("multipart/form-data", "--")
	handler := newEdge(f, &formReader{}).Public()
	f.Fuzz(func(t *testing.T, contentType, body string) {
		for _, path := range []string{"/api-v3/report/external-edit/agent/1", "/api-v3/notifications/notification-type/user-preferences"} {
			var recorder *httptest.ResponseRecorder
			allocation.AtMost(t, formMemory+50*len(body), func() {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, io.NopCloser(strings.NewReader(body)))
				request.Header["Content-Type"] = []string{contentType}
				recorder = httptest.NewRecorder()
				handler.ServeHTTP(recorder, request)
			})
			if recorder.Code >= http.StatusInternalServerError {
				t.Errorf("%s: %d %s, want no fault of ours", path, recorder.Code, recorder.Body)
			}
		}
	})
}
