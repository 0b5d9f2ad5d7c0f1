package document

import (
	"errors"
	"io"
	"unicode/utf16"
)

// macroStorages are names of storages in which the Office formats before .docx keep macros.
var macroStorages = map[string]bool{"VBA": true, "_VBA_PROJECT": true, "_VBA_PROJECT_CUR": true, "Macros": true}

// Size of a directory entry in a compound file, and the offsets of its name length and kind.
const (
	entryBytes  = 128
	entryLength = 64
	entryKind   = 66
)

// scanOldOffice rejects an embedded compound file with macros. It reads the whole file entry by entry: wherever the
// directory is, its entries begin at multiples of their size.
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

// entryName returns the name of a storage or stream, or "" if the bytes are no directory entry.
func entryName(entry *[entryBytes]byte) string {
	const longest = entryLength / 2
	length := (int(entry[entryLength]) | int(entry[entryLength+1])<<8) / 2 // includes a final zero
	if kind := entry[entryKind]; length < 2 || length > longest || (kind != 1 && kind != 2) {
		return ""
	}
	name := make([]uint16, length-1)
	for i := range name {
		name[i] = uint16(entry[2*i]) | uint16(entry[2*i+1])<<8
	}
	return string(utf16.Decode(name))
}
