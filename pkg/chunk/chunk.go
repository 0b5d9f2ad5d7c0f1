// Package chunk sends and receives the bytes of files in streams of gRPC messages without copying them. A
// message with a single bytes field is written from the buffer that was read, and a received one stays in the
// transport's buffers. The bytes on the wire are those of the documented message, so the other side need not
// use this package.
//
// Only streams that name its codec use it: the server's method and the client's call (grpc.ForceServerCodecV2,
// grpc.ForceCodecV2). All other calls use gRPC's own codec.
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

// Bytes is the size of the content of a full message.
const Bytes = 512 << 10

// Out is a message to send with one field of bytes. It can be sent only once.
type Out struct {
	field protowire.Number
	data  mem.Buffer
}

// few is the size of the buffer that is tried first, so that a part of a few bytes does not take a full one.
const few = 1 << 10

// Read fills a message with up to Bytes from source. At the end of source it returns io.EOF, together with a
// message unless nothing was left. Other errors are those of source.
func Read(source io.Reader, field protowire.Number) (*Out, error) {
	head := make([]byte, few)
	n, err := fill(source, head, 0)
	switch {
	case n == 0:
		return nil, err
	case err != nil:
		return &Out{field, mem.SliceBuffer(head[:n])}, err
	}
	buffer := buffers.Get(Bytes)
	copy(*buffer, head)
	n, err = fill(source, *buffer, n)
	*buffer = (*buffer)[:n]
	return &Out{field, mem.NewBuffer(buffer, buffers)}, err
}

// fill reads into buffer from n on until it is full or source ends. A multipart form returns a few kilobytes per Read.
func fill(source io.Reader, buffer []byte, n int) (int, error) {
	var err error
	for n < len(buffer) && err == nil {
		var read int
		read, err = source.Read(buffer[n:])
		n += read
	}
	return n, err
}

// In receives a message. When Field is the message's only content, it stays in the transport's buffers,
// readable through Data; any other message is decoded into Message.
type In struct {
	Field   protowire.Number
	Message proto.Message
	Data    *mem.Reader // nil if Message was decoded; the receiver must read it to its end or close it
}

// take returns a reader of the field's content if data contains nothing else, otherwise nil.
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

// codec extends gRPC's protobuf codec by Out and In.
type codec struct{ encoding.CodecV2 }

// Codec returns gRPC's protobuf codec, extended by Out and In.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Marshal encodes v. The transport frees the buffer of an Out once it is written.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := v.(*Out)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	head := protowire.AppendTag(nil, out.field, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(out.data.Len()))
	return mem.BufferSlice{mem.SliceBuffer(head), out.data}, nil
}

// Unmarshal decodes data into v. For an *In whose field is the only content of the message, nothing is copied: In.Data
// reads from the buffers of data.
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

// pool keeps buffers of Bytes. gRPC's own pool would clear each buffer before it is overwritten.
type pool struct{ inner sync.Pool }

var _ mem.BufferPool = (*pool)(nil)

var buffers = &pool{sync.Pool{New: func() any { buffer := make([]byte, Bytes); return &buffer }}}

func (p *pool) Get(int) *[]byte {
	buffer := p.inner.Get().(*[]byte) // the pool holds only this type
	*buffer = (*buffer)[:Bytes]
	return buffer
}

func (p *pool) Put(buffer *[]byte) { p.inner.Put(buffer) }
