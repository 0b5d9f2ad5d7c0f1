package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// slots is a folder of the user's for conversions, outside of the reports' folders: these may lie on a share, or be
// copied elsewhere by a program.
type slots struct{ root string }

// slot is a folder for one conversion at a time. LibreOffice keeps its profile there from one to the next.
type slot struct {
	dir  string
	lock *os.File
}

// maxSlots is how many conversions one user may have at once, those included that a killed agent left behind.
const maxSlots = 16

var (
	errBusy  = errors.New("it is in use")
	errSlots = errors.New("too many conversions are under way: end LibreOffice (soffice) in the list of running programs")
)

// userSlots returns the slots of the user who runs this program.
func userSlots() (slots, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return slots{}, fmt.Errorf("find a folder for conversions: %w", err)
	}
	return slots{filepath.Join(cache, "lab-agent")}, nil
}

// take returns a free slot with an empty folder for the files. Other agents of the user, and a LibreOffice that
// outlived its agent, hold others.
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
	found, _ := os.ReadDir(s.root) // nothing was left
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

// shown is the document that is converted, when it is another than the one that is uploaded.
func (s slot) shown() string { return filepath.Join(s.work(), "shown", documentName) }

func (s slot) release() {
	_ = os.RemoveAll(s.work()) // else the next conversion
	_ = s.lock.Close()
}

// lockName is the lock of a report's folder.
const lockName = ".agent.lock"

// lockFolder refuses the folder of a running agent. Where the file system has no locks, as on some shares, it only
// warns.
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
