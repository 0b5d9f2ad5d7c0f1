package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"gocloud.dev/blob"
)

// durability makes what a folder holds survive a loss of power: the operating system keeps written files, and the
// names of files, in memory at first. S3 stores before it answers; there durability is nil and does nothing.
type durability struct {
	root string
	sync func(*os.File) error // (*os.File).Sync, but for tests
}

// makeRoot makes the folder of the store when it is absent.
func (d *durability) makeRoot(name string) error {
	err := os.Mkdir(name, folderMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeRoot(filepath.Dir(name)); err != nil {
			return err
		}
		err = os.Mkdir(name, folderMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.folder(filepath.Dir(name))
}

// writing is an object of a folder on its way: the temporary file that becomes it.
type writing struct {
	durability *durability
	key        string
	file       *os.File // nil for S3
	transient  bool     // its name may be lost
}

func (d *durability) begin(key string) *writing { return &writing{durability: d, key: key} }

// take is the BeforeWrite of blob.WriterOptions: the driver hands out its temporary file.
func (w *writing) take(as func(any) bool) error {
	if w.durability == nil {
		return nil
	}
	if !as(&w.file) {
		return errors.New("the folder store does not hand out the file that it writes")
	}
	return nil
}

// content syncs the bytes. It comes before the rename: else a loss of power could leave the name with nothing behind
// it.
func (w *writing) content() error {
	if w.durability == nil {
		return nil
	}
	return w.durability.sync(w.file)
}

// name syncs the name that the rename gave, unless it may be lost.
func (w *writing) name() error {
	if w.transient {
		return nil
	}
	return w.durability.folders(w.key)
}

// folders syncs the folder of key and all above it: this writer, or another a moment ago, may have made any of them.
func (d *durability) folders(key string) error {
	if d == nil {
		return nil
	}
	for folder := path.Dir(key); ; folder = path.Dir(folder) {
		if err := d.folder(filepath.Join(d.root, filepath.FromSlash(folder))); err != nil {
			return err
		}
		if folder == "." {
			return nil
		}
	}
}

// deleted removes the folder of key when nothing else is in it, and syncs the removal of the name: a deleted document
// must not come back.
func (d *durability) deleted(key string) error {
	if d == nil {
		return nil
	}
	folder := filepath.Join(d.root, filepath.FromSlash(path.Dir(key)))
	if os.Remove(folder) == nil { // the system removes empty ones alone
		folder = filepath.Dir(folder)
	}
	err := d.folder(folder)
	if errors.Is(err, fs.ErrNotExist) { // there never was a file of that folder
		return nil
	}
	return err
}

func (d *durability) folder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("sync the folder of a file: %w", err)
	}
	return errors.Join(d.sync(folder), folder.Close())
}

// S3 gets an object in parts of this size, the smallest that it takes, one while the next is read. By default its
// driver keeps 48 MiB of an object in memory.
const (
	partBytes   = 5 << 20
	partsAtOnce = 1
)

// writer opens the store's writer of an object.
func (b *Bucket) writer(ctx context.Context, w *writing, contentType string) (*blob.Writer, error) {
	return b.inner.NewWriter(ctx, w.key, &blob.WriterOptions{
		ContentType: contentType, DisableContentTypeDetection: true, BeforeWrite: w.take,
		BufferSize: partBytes, MaxConcurrency: partsAtOnce,
	})
}
