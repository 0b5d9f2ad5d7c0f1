package upload_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// metered counts the bytes fetched from the store.
type metered struct {
	upload.Files
	bytes, requests *int64
}

func (m metered) Open(
	ctx context.Context, scope authn.LabScope, key string, offset, length int64,
) (io.ReadCloser, error) {
	*m.bytes += length
	*m.requests++
	return m.Files.Open(ctx, scope, key, offset, length)
}

// album returns a Word document with pictures of 64 KiB. Its directory has the order of its parts, or a random one if
// shuffled.
func album(t *testing.T, pictures int, shuffled bool) []byte {
	t.Helper()
	dice := rand.NewChaCha8([32]byte{1})
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, content []byte) {
		part, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(content)
	}
	for _, p := range storetest.Parts("pictures") {
		add(p[0], []byte(p[1]))
	}
	picture := make([]byte, 64<<10)
	for i := range pictures {
		_, _ = dice.Read(picture)
		picture[0] = 'x'
		add(fmt.Sprintf("word/media/%d.png", i), picture)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if shuffled {
		shuffle(b.Bytes(), rand.New(dice))
	}
	return b.Bytes()
}

// shuffle puts the entries of the archive's directory in random order.
func shuffle(archive []byte, dice *rand.Rand) {
	end := bytes.LastIndex(archive, []byte("PK\x05\x06"))
	begin := int(binary.LittleEndian.Uint32(archive[end+16:]))
	var records [][]byte
	for at := begin; at < end; {
		lengths := archive[at+28:]
		n := 46 + int(binary.LittleEndian.Uint16(lengths)) + int(binary.LittleEndian.Uint16(lengths[2:])) +
			int(binary.LittleEndian.Uint16(lengths[4:]))
		records = append(records, bytes.Clone(archive[at:at+n]))
		at += n
	}
	dice.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	copy(archive[begin:end], bytes.Join(records, nil))
}

// TestAnUploadFetchesWhatItIsWorth limits the bytes that the check of a document reads back from the store.
func TestAnUploadFetchesWhatItIsWorth(t *testing.T) {
	t.Parallel()
	for _, shuffled := range []bool{false, true} {
		b := newFixture(t)
		files := metered{b.files, new(int64), new(int64)}
		content := album(t, 200, shuffled)
		_, err := b.save(b.useCase(b.reports(), files), &form{parts: []upload.Part{
			part(document.Word, content), part(document.PDF, storetest.PDF("")),
		}})
		t.Logf("shuffled %t: %d MB, %d requests, %d MB fetched: %v", shuffled, len(content)>>20, *files.requests, *files.bytes>>20, err)
		most := int64(4*len(content) + 4<<20)
		if shuffled != apperr.Is(err, apperr.Invalid) || !shuffled && err != nil || *files.bytes > most {
			t.Errorf("shuffled %t: %d bytes fetched, %v", shuffled, *files.bytes, err)
		}
		b.wantNothingLeft("after the check")
	}
}
