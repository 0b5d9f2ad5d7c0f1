package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxLog is how large the log of a child may grow before it is set aside.
const MaxLog = 32 << 20

// BoundLog sets a log aside as <file>.1, in place of an older one, when it is larger than most bytes. Its writer keeps
// the file open in append mode and continues in the same one; what it writes at that very moment may be lost.
func BoundLog(file string, most int64) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Size() <= most {
		return err
	}
	log, err := os.Open(file)
	if err != nil {
		return err
	}
	defer log.Close()
	aside, err := os.Create(file + ".1")
	if err != nil {
		return err
	}
	_, err = io.Copy(aside, log)
	if err := errors.Join(err, aside.Close()); err != nil {
		return fmt.Errorf("set %s aside: %w", file, err)
	}
	return os.Truncate(file, 0)
}
