package grpcapi

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/chunk"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

// wire is a stream of received messages.
type wire struct {
	uploadStream
	messages [][]byte
}

func (w *wire) RecvMsg(m any) error {
	if len(w.messages) == 0 {
		return io.EOF
	}
	message := w.messages[0]
	w.messages = w.messages[1:]
	return chunk.Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, m)
}

func sent(t *testing.T, parts ...any) *form {
	t.Helper()
	w := &wire{}
	for _, p := range parts {
		m := &externaleditv1.UploadFilesRequest{}
		switch p := p.(type) {
		case string:
			m.Part = &externaleditv1.UploadFilesRequest_Chunk{Chunk: []byte(p)}
		case *externaleditv1.UploadFile:
			m.Part = &externaleditv1.UploadFilesRequest_File{File: p}
		}
		text, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		w.messages = append(w.messages, text)
	}
	return &form{stream: w}
}

func file(field string) *externaleditv1.UploadFile { return &externaleditv1.UploadFile{Field: field} }

func TestAPartIsItsOwnBytes(t *testing.T) {
	t.Parallel()
	f := sent(t, file("a"), "first ", "", "part", file("b"), "read in", " part", "never read", file("c"), file("d"), "end")
	for _, want := range []struct {
		field, text string
		read        int // number of bytes; -1: all
	}{{"a", "first part", -1}, {"b", "rea", 3}, {"c", "", -1}, {"d", "end", -1}} {
		part, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		body := part.Body
		if want.read >= 0 {
			body = io.LimitReader(body, int64(want.read))
		}
		text, err := io.ReadAll(body)
		if err != nil || part.Field != want.field || string(text) != want.text {
			t.Errorf("part %s: %q, error %v, want %+v", part.Field, text, err, want)
		}
	}
	for range 2 {
		if _, err := f.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last part: %v", err)
		}
	}
}

func TestAMessageWithoutAPartEndsTheForm(t *testing.T) {
	t.Parallel()
	f := sent(t, file("a"), nil)
	part, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(part.Body); !errors.Is(err, errOrder) {
		t.Errorf("got %v, want errOrder", err)
	}
	if _, err := f.Next(); !errors.Is(err, errOrder) {
		t.Errorf("got %v, want errOrder", err)
	}
}
