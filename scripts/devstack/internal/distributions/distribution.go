package distributions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Distribution is the programs of one engine and the recipe that puts them together.
type Distribution struct {
	Name, Version string
	files         fs.FS // all files that the result depends on
	build         func(ctx context.Context, tools Tools, files fs.FS, dir string, progress io.Writer) error
}

// layout is a part of the stamp. Raise it when a change of the Go code here changes what is built from the same files.
const layout = 1

// Tools are the paths of the programs of a Java development kit and of Maven.
type Tools struct{ Java, Javac, Jar, Maven string }

// Path returns the folder of the distribution below root. Its name contains the stamp, so that a changed recipe is
// built into a new folder.
func (d Distribution) Path(root string) (string, error) {
	stamp, err := d.stamp()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, d.Name+"-"+d.Version+"-"+stamp), nil
}

// Present reports whether root holds the distribution.
func (d Distribution) Present(root string) bool {
	dir, err := d.Path(root)
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return err == nil
}

// Ensure returns the folder of the distribution in root and builds it first when it is missing. It is built in a
// neighbouring folder, then renamed, so that a crash never leaves half a distribution. Concurrent callers wait for the
// first one.
func (d Distribution) Ensure(ctx context.Context, root string, tools Tools, progress io.Writer) (string, error) {
	dir, err := d.Path(root)
	if err != nil {
		return "", err
	}
	if d.Present(root) {
		return dir, nil
	}
	unlock, err := d.lock(root, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if d.Present(root) {
		return dir, nil
	}
	work := dir + ".new"
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return "", fmt.Errorf("%s: %w", d.Name, err)
	}
	if err := d.build(ctx, tools, d.files, work, progress); err != nil {
		return "", fmt.Errorf("%s %s: %w", d.Name, d.Version, err)
	}
	if err := os.Rename(work, dir); err != nil {
		return "", fmt.Errorf("%s: %w", d.Name, err)
	}
	return dir, nil
}

// lock waits for another installer of the same distribution. The kernel frees the lock when its holder dies.
func (d Distribution) lock(root string, progress io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("distributions: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(root, "."+d.Name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("distributions: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		fmt.Fprintf(progress, "%s: waiting for another process that fetches it into %s\n", d.Name, root)
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return func() { file.Close() }, nil
}

// stamp returns a digest of layout and of every file of the recipe.
func (d Distribution) stamp() (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %d\n", d.Name, d.Version, layout)
	err := fs.WalkDir(d.files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(d.files, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("stamp of %s: %w", d.Name, err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:10], nil
}
