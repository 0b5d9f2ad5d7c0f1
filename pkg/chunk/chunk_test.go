package chunk_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/chunk"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

const field = 1 // field number in BytesValue

func codec() encoding.CodecV2 { return chunk.Codec() }

func TestDefaultCodecIsUnchanged(t *testing.T) {
	t.Parallel()
	out, err := chunk.Read(bytes.NewReader([]byte("bytes")), field)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if _, err := encoding.GetCodecV2("proto").Marshal(out); err == nil {
		t.Error("the default codec encodes chunk.Out, want an error")
	}
}

// split cuts a message into buffers of size bytes, as the transport does.
func split(message []byte, size int) mem.BufferSlice {
	var parts mem.BufferSlice
	for len(message) > 0 {
		n := min(size, len(message))
		parts, message = append(parts, mem.SliceBuffer(message[:n])), message[n:]
	}
	return parts
}

func received(t require, in *chunk.In) []byte {
	if in.Data == nil {
		return in.Message.(*wrapperspb.BytesValue).GetValue() // decoded into Message
	}
	content, err := io.ReadAll(in.Data)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

type require interface{ Fatal(args ...any) }

// The messages of this package and plain protobuf messages must be interchangeable, because either side may use the
// latter.
func TestWireFormatIsThatOfThePlainMessage(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 1, 70_000).Draw(t, "content")
		out, err := chunk.Read(bytes.NewReader(content), field)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		sent, err := codec().Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		wire := sent.Materialize()
		sent.Free()
		plain := &wrapperspb.BytesValue{}
		if err := proto.Unmarshal(wire, plain); err != nil || !bytes.Equal(plain.GetValue(), content) {
			t.Fatalf("plain receiver decoded %d bytes, want the %d sent, error %v", len(plain.GetValue()), len(content), err)
		}
		if wire, err = proto.Marshal(&wrapperspb.BytesValue{Value: content}); err != nil {
			t.Fatal(err)
		}
		in := &chunk.In{Field: field, Message: &wrapperspb.BytesValue{}}
		size := rapid.IntRange(1, 20_000).Draw(t, "size")
		if err := codec().Unmarshal(split(wire, size), in); err != nil || in.Data == nil {
			t.Fatalf("message of a plain sender: error %v, Data set: %t, want no error and Data", err, in.Data != nil)
		}
		if got := received(t, in); !bytes.Equal(got, content) {
			t.Fatalf("content has %d bytes, want the %d sent", len(got), len(content))
		}
	})
}

func TestAnyOtherMessageIsDecoded(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string][]byte{
		"an empty message":                 {},
		"the field twice":                  {0x0a, 1, 'a', 0x0a, 1, 'b'},
		"another field before":             {0x10, 1, 0x0a, 1, 'b'},
		"another field after":              {0x0a, 1, 'b', 0x10, 1},
		"the field with another wire type": {0x08, 1},
	} {
		in := &chunk.In{Field: field, Message: &wrapperspb.BytesValue{}}
		want := &wrapperspb.BytesValue{}
		err := codec().Unmarshal(split(wire, 3), in)
		if (err == nil) != (proto.Unmarshal(wire, want) == nil) || in.Data != nil || !bytes.Equal(received(t, in), want.GetValue()) {
			t.Errorf("%s: In = %v, error %v, want the result of proto.Unmarshal", name, in, err)
		}
	}
	for name, wire := range map[string][]byte{
		"cut short": {0x0a, 9, 'a'}, "a length that never ends": bytes.Repeat([]byte{0xff}, 20),
		"a length of 2^63": {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		in := &chunk.In{Field: field, Message: &wrapperspb.BytesValue{}}
		if err := codec().Unmarshal(split(wire, 3), in); err == nil || in.Data != nil {
			t.Errorf("%s: accepted as %v, want an error", name, in)
		}
	}
}

func TestReadReturnsTheErrorOfItsSource(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	if out, err := chunk.Read(iotest.ErrReader(boom), field); out != nil || !errors.Is(err, boom) {
		t.Errorf("Read of a failing source = %v, %v, want nil and the source's error", out, err)
	}
	if out, err := chunk.Read(bytes.NewReader(nil), field); out != nil || !errors.Is(err, io.EOF) {
		t.Errorf("Read of an empty source = %v, %v, want nil, EOF", out, err)
	}
	source := iotest.OneByteReader(bytes.NewReader(make([]byte, chunk.Bytes+1)))
	for _, want := range []error{nil, io.EOF} {
		if out, err := chunk.Read(source, field); out == nil || !errors.Is(err, want) {
			t.Errorf("Read error = %v, want %v and a message", err, want)
		}
	}
}
