package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// slots is the user's folder for conversions. It is outside the reports' folders, because these may be on a share or be
// synchronised by another program.
type slots struct{ root string }

// slot is a folder for one conversion at a time. LibreOffice's profile stays in it.
type slot struct {
	dir  string
	lock *os.File
}

// maxSlots is the maximum number of concurrent conversions of one user, including those left by killed agents.
const maxSlots = 16

var (
	errBusy  = errors.New("it is in use")
	errSlots = errors.New("too many conversions are under way: end LibreOffice (soffice) in the list of running programs")
)

func userSlots() (slots, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return slots{}, fmt.Errorf("find a folder for conversions: %w", err)
	}
	return slots{filepath.Join(cache, "lab-agent")}, nil
}

// take returns a free slot with an empty folder for the files. Slots are in use by other agents of the user, or by a
// LibreOffice that outlived its agent.
func (s slots) take() (slot, error) {
	for n := range maxSlots {
		found, err := takeSlot(filepath.Join(s.root, fmt.Sprint("slot-", n+1)))
		if !errors.Is(err, errBusy) {
			return found, err
		}
	}
	return slot{}, errSlots
}

func takeSlot(dir string) (slot, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return slot{}, err
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, errors.ErrUnsupported) {
		return slot{}, fmt.Errorf("the file system of %s has no locks: name a folder of this computer in XDG_CACHE_HOME", dir)
	}
	if err != nil {
		return slot{}, err
	}
	s := slot{dir, lock}
	if err := errors.Join(os.RemoveAll(s.work()), os.Mkdir(s.work(), 0o700)); err != nil {
		return slot{}, errors.Join(err, lock.Close())
	}
	return s, nil
}

// sweep deletes the files that killed agents left in their slots.
func (s slots) sweep() {
	found, _ := os.ReadDir(s.root) // without the folder, no files were left
	for _, entry := range found {
		if left, err := takeSlot(filepath.Join(s.root, entry.Name())); err == nil {
			left.release()
		}
	}
}

func (s slot) work() string    { return filepath.Join(s.dir, "work") }
func (s slot) profile() string { return filepath.Join(s.dir, "profile") }
func (s slot) word() string    { return filepath.Join(s.work(), documentName) }
func (s slot) pdf() string     { return filepath.Join(s.work(), "report.pdf") }

// shown returns the path of the document that is converted, if it is not the uploaded one.
func (s slot) shown() string { return filepath.Join(s.work(), "shown", documentName) }

func (s slot) release() {
	_ = os.RemoveAll(s.work()) // on failure the next conversion deletes it
	_ = s.lock.Close()
}

// lockName is the name of the lock file in a report's folder.
const lockName = ".agent.lock"

// lockFolder returns an error while another agent works in the folder. On file systems without locks, such as some
// shares, it only warns.
func lockFolder(dir string, say func(string, ...any)) (unlock func(), err error) {
	lock, err := lockFile(filepath.Join(dir, lockName))
	switch {
	case errors.Is(err, errBusy):
		return nil, fmt.Errorf("another agent works in the folder %s: end it first, or take another --dir", dir)
	case errors.Is(err, errors.ErrUnsupported):
		say("the folder's file system has no locks: make sure that no other agent works there")
		return func() {}, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the folder %s cannot be written to: take another --dir", dir)
	case err != nil:
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}
