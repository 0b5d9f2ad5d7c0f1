package upload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// blockBytes is the size of one read from the file store. Documents are usually read forward in small steps.
const blockBytes = 512 << 10

// Limits of the bytes fetched for one document, as a multiple of its size plus a number of blocks. A document that was
// written in one pass is fetched about once. Only a directory whose order differs from that of the parts needs more, up
// to a request per part.
const (
	maxFetchedTimes  = 4
	maxFetchedBlocks = 8
)

var errScattered = apperr.New(apperr.Invalid, "WORD_SCATTERED",
	"The Word document has its parts in another order than its directory; open it in Word and save it again")

// storedFile reads an object at any offset. It keeps two blocks, because the directory is read between the parts.
type storedFile struct {
	ctx    context.Context
	files  Files
	scope  authn.LabScope
	key    string
	size   int64
	blocks [2]block
	turn   int   // index of the block to replace next
	left   int64 // bytes that may still be fetched
}

var _ io.ReaderAt = (*storedFile)(nil)

type block struct {
	offset int64
	data   []byte
}

func newStoredFile(ctx context.Context, files Files, scope authn.LabScope, key string, size int64) *storedFile {
	return &storedFile{ctx: ctx, files: files, scope: scope, key: key, size: size,
		left: maxFetchedTimes*size + maxFetchedBlocks*blockBytes}
}

func (f *storedFile) ReadAt(p []byte, offset int64) (int, error) {
	read := 0
	for read < len(p) {
		at := offset + int64(read)
		if at >= f.size {
			return read, io.EOF
		}
		data, err := f.block(at - at%blockBytes)
		if err != nil {
			return read, err
		}
		read += copy(p[read:], data[at%blockBytes:])
	}
	return read, nil
}

func (f *storedFile) block(offset int64) ([]byte, error) {
	for i := range f.blocks {
		if f.blocks[i].data != nil && f.blocks[i].offset == offset {
			f.turn = 1 - i
			return f.blocks[i].data, nil
		}
	}
	b := &f.blocks[f.turn]
	length := min(blockBytes, f.size-offset)
	f.left -= length
	if f.left < 0 {
		return nil, errScattered
	}
	if b.data == nil {
		b.data = make([]byte, blockBytes)
	}
	b.data, b.offset = b.data[:length], offset
	reader, err := f.files.Open(f.ctx, f.scope, f.key, offset, length)
	if err != nil {
		b.data = nil
		return nil, fmt.Errorf("read stored file: %w", err)
	}
	_, err = io.ReadFull(reader, b.data)
	if err = errors.Join(err, reader.Close()); err != nil {
		b.data = nil
		return nil, fmt.Errorf("read stored file: %w", err)
	}
	f.turn = 1 - f.turn
	return b.data, nil
}
