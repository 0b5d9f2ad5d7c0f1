package blob

import (
	"mime"
	"path"
)

// unknownType is what the folder store says of a file without attributes.
const unknownType = "application/octet-stream"

// fileTypes are the types of the platform's own files; this machine's table may lack them.
var fileTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".pdf":  "application/pdf",
}

// contentType returns what the store knows; of a file in a folder, which keeps no types, what its name tells.
func (b *Bucket) contentType(key, stored string) string {
	if b.links == nil || (stored != "" && stored != unknownType) {
		return stored
	}
	extension := path.Ext(key)
	if known, ok := fileTypes[extension]; ok {
		return known
	}
	if known := mime.TypeByExtension(extension); known != "" {
		return known
	}
	return unknownType
}
