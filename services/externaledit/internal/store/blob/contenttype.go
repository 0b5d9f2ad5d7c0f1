package blob

import (
	"mime"
	"path"
)

// unknownType is the content type that the folder store returns for a file without attributes.
const unknownType = "application/octet-stream"

// fileTypes are the content types of the platform's files, by extension. The table of the operating system may lack
// them.
var fileTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".pdf":  "application/pdf",
}

// contentType returns the stored content type. For a folder, which stores none, it derives the type from the name.
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
