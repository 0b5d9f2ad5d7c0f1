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

// Distribution is one engine's programs and how to put them together.
type Distribution struct {
	Name, Version string
	files         fs.FS // everything that the result depends on, beside the version
	build         func(ctx context.Context, tools Tools, files fs.FS, dir string, progress io.Writer) error
}

// layout is raised when the Go code here puts the same files together in another way.
const layout = 1

// Tools are the programs of a Java development kit and Maven.
type Tools struct{ Java, Javac, Jar, Maven string }

// Path is where the distribution is kept in root: the stamp makes a changed recipe a new folder.
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

// Ensure returns the folder of the distribution in root and makes it first when it is absent. It is made beside its
// place and renamed, so that a crash never leaves half of one; who comes second waits for the first.
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

// stamp is a digest of every file of the recipe.
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
