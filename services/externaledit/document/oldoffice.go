package document

import (
	"errors"
	"io"
	"unicode/utf16"
)

// macroStorages are where documents of the format before .docx keep programs.
var macroStorages = map[string]bool{"VBA": true, "_VBA_PROJECT": true, "_VBA_PROJECT_CUR": true, "Macros": true}

// Entries of the directory of a compound file: their size, and where the length of the name and the kind are.
const (
	entryBytes  = 128
	entryLength = 64
	entryKind   = 66
)

// scanOldOffice looks for macros in an embedded compound file. The entries of its directory begin at multiples of their
// size, wherever the directory is.
func scanOldOffice(content io.Reader) error {
	var entry [entryBytes]byte
	for {
		_, err := io.ReadFull(content, entry[:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if macroStorages[entryName(&entry)] {
			return errMacro
		}
	}
}

// entryName returns the name of a storage or stream, "" for what cannot be one.
func entryName(entry *[entryBytes]byte) string {
	const longest = entryLength / 2
	length := (int(entry[entryLength]) | int(entry[entryLength+1])<<8) / 2 // with a final zero
	if kind := entry[entryKind]; length < 2 || length > longest || (kind != 1 && kind != 2) {
		return ""
	}
	name := make([]uint16, length-1)
	for i := range name {
		name[i] = uint16(entry[2*i]) | uint16(entry[2*i+1])<<8
	}
	return string(utf16.Decode(name))
}
