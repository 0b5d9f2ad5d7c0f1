package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxLog is the size in bytes above which a child's log is moved to <file>.1.
const MaxLog = 32 << 20

// BoundLog copies a log that is larger than most bytes to <file>.1, replacing an older copy, and truncates it. The
// writer keeps the file open in append mode. What it writes during the copy may be lost.
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
