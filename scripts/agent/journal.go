package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	documentName = "report.docx"
	downloadName = documentName + ".download"
	journalName  = ".agent.json"
)

// journal holds the state for a restart. It stays after the session has ended, because it names the report of the
// document in the folder.
type journal struct {
	Report   int64    `json:"lab_report_id"`
	Key      string   `json:"idempotency_key"` // idempotency key of the creation, to repeat it
	Creation creation `json:"creation"`
	EditID   int64    `json:"edit_id,omitempty"` // 0 before the answer to the creation
	Token    string   `json:"auth_token,omitempty"`
	Previous int64    `json:"former_edit_id,omitempty"` // the previous session
	Ended    bool     `json:"ended,omitempty"`
	// Base is the path of the save that the document is based on or was uploaded as; empty for a template.
	Base string `json:"based_on,omitempty"`
	// Saved is the hash of the last uploaded document. A document with another hash has not been uploaded.
	Saved string `json:"saved_sha256,omitempty"`
	// Fetching is a download that is about to replace the document.
	Fetching *fetching `json:"fetching,omitempty"`
}

type fetching struct {
	Base string `json:"based_on"`
	Hash string `json:"sha256"`
}

// placed records that the download has replaced the document.
func (j *journal) placed() {
	j.Base, j.Saved, j.Fetching = j.Fetching.Base, j.Fetching.Hash, nil
}

// next returns the journal of a new session for the same document.
func (j *journal) next() journal {
	return journal{Report: j.Report, Previous: j.EditID, Base: j.Base, Saved: j.Saved}
}

// folder is the folder with the document and the journal.
type folder struct{ dir string }

func (f folder) document() string { return filepath.Join(f.dir, documentName) }

func (f folder) download() string { return filepath.Join(f.dir, downloadName) }

// read returns nil if there is no journal.
func (f folder) read() (*journal, error) {
	path := filepath.Join(f.dir, journalName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var j journal
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("%s cannot be read, move it away together with the document: %w", path, err)
	}
	return &j, nil
}

// write replaces the journal atomically: after a crash either version is complete.
func (f folder) write(j journal) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	path := filepath.Join(f.dir, journalName)
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

// place replaces the document with the download.
func (f folder) place() error { return os.Rename(f.download(), f.document()) }
