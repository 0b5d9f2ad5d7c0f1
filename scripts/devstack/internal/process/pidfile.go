package process

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Directory is the folder of one stack's pid files, <name>.pid each.
type Directory string

// Write stores the pid and the start time of the process name. The process must be running.
func (d Directory) Write(name string, pid int) error {
	id, err := Identify(pid)
	if err != nil {
		return err
	}
	text, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	if err := writeAtomically(d.file(name), text); err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}

// Remove deletes the pid file of name, if there is one.
func (d Directory) Remove(name string) { _ = os.Remove(d.file(name)) }

// Find returns the stored identity of name. The process may have ended.
func (d Directory) Find(name string) (Identity, bool) {
	text, err := os.ReadFile(d.file(name))
	if err != nil {
		return Identity{}, false
	}
	var id Identity
	if err := json.Unmarshal(text, &id); err != nil {
		return Identity{}, false
	}
	return id, true
}

// Alive returns the recorded processes that are still running, by name.
func (d Directory) Alive() map[string]Identity {
	alive := map[string]Identity{}
	files, _ := filepath.Glob(filepath.Join(string(d), "*.pid"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		if id, ok := d.Find(name); ok && id.Alive() {
			alive[name] = id
		}
	}
	return alive
}

func (d Directory) file(name string) string { return filepath.Join(string(d), name+".pid") }

func writeAtomically(file string, text []byte) error {
	temporary := file + ".tmp"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}
