package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const journalName = ".agent.json"

// journal is what a restart needs: the session, and which content of the document was acknowledged. A document with
// another content is a save that is still to be uploaded.
type journal struct {
	Report int64  `json:"lab_report_id"`
	EditID int64  `json:"edit_id"`
	Token  string `json:"auth_token"`
	Saved  string `json:"saved_sha256"`
}

func readJournal(dir string) (journal, error) {
	var j journal
	text, err := os.ReadFile(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return j, err
	}
	if err := json.Unmarshal(text, &j); err != nil {
		return j, fmt.Errorf("%s cannot be read, move it away: %w", filepath.Join(dir, journalName), err)
	}
	return j, nil
}

// write replaces the journal as a whole: a crash leaves the former one or this one.
func (j journal) write(dir string) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, journalName)
	file, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (j journal) remove(dir string) error { return os.Remove(filepath.Join(dir, journalName)) }
