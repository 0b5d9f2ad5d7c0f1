// Package chunk moves the bytes of files through streams of gRPC messages without copying them: a message of one field
// goes to the wire as the buffer that was read, and stays in the transport's buffers when it arrives. On the wire they
// are the messages of the contract, so each side may be one that does not use the package.
//
// It owns the codec that does so. The server of such a stream names it, and so does the call of its client
// (grpc.ForceServerCodecV2, grpc.ForceCodecV2); all others have gRPC's own.
package chunk

import (
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Bytes is how much a message carries.
const Bytes = 512 << 10

// Out is a message that has one field, of bytes. It is sent once.
type Out struct {
	field protowire.Number
	data  mem.Buffer
}

// Read fills a message from source. At the end of source it returns io.EOF, with a message unless nothing was left; any
// other error is the source's.
func Read(source io.Reader, field protowire.Number) (*Out, error) {
	buffer := buffers.Get(Bytes)
	n := 0
	var err error
	for n < len(*buffer) && err == nil { // a form gives a few kilobytes at a time
		var read int
		read, err = source.Read((*buffer)[n:])
		n += read
	}
	if n == 0 {
		buffers.Put(buffer)
		return nil, err
	}
	*buffer = (*buffer)[:n]
	return &Out{field, mem.NewBuffer(buffer, buffers)}, err
}

// In receives a message. One that has the field alone is left in the transport's buffers, for Data; any other is
// decoded into Message.
type In struct {
	Field   protowire.Number
	Message proto.Message
	Data    *mem.Reader // nil when Message was decoded; the receiver reads it to its end or closes it
}

// take returns the content of the field when data is nothing else.
func (in *In) take(data mem.BufferSlice) *mem.Reader {
	var head [16]byte
	start := head[:data.CopyTo(head[:])]
	number, kind, tag := protowire.ConsumeTag(start)
	if tag < 0 || number != in.Field || kind != protowire.BytesType {
		return nil
	}
	size, length := protowire.ConsumeVarint(start[tag:])
	if length < 0 || size != uint64(data.Len()-tag-length) {
		return nil
	}
	reader := data.Reader()
	if _, err := reader.Discard(tag + length); err != nil {
		return nil
	}
	return reader
}

// codec is gRPC's own but for the two types.
type codec struct{ encoding.CodecV2 }

// Codec returns gRPC's own codec for protobuf, which also knows the two types.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Marshal implements encoding.CodecV2. The transport frees the buffer once it is written.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := v.(*Out)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	head := protowire.AppendTag(nil, out.field, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(out.data.Len()))
	return mem.BufferSlice{mem.SliceBuffer(head), out.data}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*In)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if in.Data = in.take(data); in.Data != nil {
		return nil
	}
	return c.CodecV2.Unmarshal(data, in.Message)
}

// pool keeps buffers of Bytes. gRPC's would clear each of them before it is overwritten.
type pool struct{ inner sync.Pool }

var _ mem.BufferPool = (*pool)(nil)

var buffers = &pool{sync.Pool{New: func() any { buffer := make([]byte, Bytes); return &buffer }}}

func (p *pool) Get(int) *[]byte {
	buffer := p.inner.Get().(*[]byte) // the pool's own
	*buffer = (*buffer)[:Bytes]
	return buffer
}

func (p *pool) Put(buffer *[]byte) { p.inner.Put(buffer) }
