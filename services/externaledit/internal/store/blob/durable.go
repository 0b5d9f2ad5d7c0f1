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

// durability makes files and file names in a folder survive a power failure, because the operating system keeps both in
// memory at first. For S3, which responds only after an object is stored, durability is nil and its methods do nothing.
type durability struct {
	root string
	sync func(*os.File) error // (*os.File).Sync, but for tests
}

// makeRoot creates the folder of the store, and missing folders above it.
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

// writing is an object being written to a folder: a temporary file that is renamed when complete.
type writing struct {
	durability *durability
	key        string
	file       *os.File // nil for S3
	transient  bool     // its name may be lost
}

func (d *durability) begin(key string) *writing { return &writing{durability: d, key: key} }

// take is the BeforeWrite function of blob.WriterOptions, through which the driver provides its temporary file.
func (w *writing) take(as func(any) bool) error {
	if w.durability == nil {
		return nil
	}
	if !as(&w.file) {
		return errors.New("the folder store does not hand out the file that it writes")
	}
	return nil
}

// content syncs the bytes of the file. It must be called before the rename, because a power failure could otherwise
// leave a name without content.
func (w *writing) content() error {
	if w.durability == nil {
		return nil
	}
	return w.durability.sync(w.file)
}

// name syncs the folders, so that the new name survives a power failure. It does nothing for transient objects, whose
// names may be lost.
func (w *writing) name() error {
	if w.transient {
		return nil
	}
	return w.durability.folders(w.key)
}

// folders syncs the folder of key and all folders above it, because this or another writer may have just created any of
// them.
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

// deleted removes the folder of key if it is empty, and syncs the folder above, so that a deleted document does not
// reappear after a power failure.
func (d *durability) deleted(key string) error {
	if d == nil {
		return nil
	}
	folder := filepath.Join(d.root, filepath.FromSlash(path.Dir(key)))
	if os.Remove(folder) == nil { // fails unless the folder is empty
		folder = filepath.Dir(folder)
	}
	err := d.folder(folder)
	if errors.Is(err, fs.ErrNotExist) { // the folder never had a file
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

// Objects are sent to S3 in parts of partBytes, the minimum that S3 accepts, one while the next is read. The driver's
// default would keep 48 MiB of an object in memory.
const (
	partBytes   = 5 << 20
	partsAtOnce = 1
)

// writer returns the driver's writer of an object.
func (b *Bucket) writer(ctx context.Context, w *writing, contentType string) (*blob.Writer, error) {
	return b.inner.NewWriter(ctx, w.key, &blob.WriterOptions{
		ContentType: contentType, DisableContentTypeDetection: true, BeforeWrite: w.take,
		BufferSize: partBytes, MaxConcurrency: partsAtOnce,
	})
}
