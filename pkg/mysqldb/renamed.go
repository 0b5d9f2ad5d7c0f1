package mysqldb

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Renamed returns files in which the table name from is replaced by to. It is for packages whose table has a different
// name in every service.
func Renamed(files fs.FS, from, to string) fs.FS { return renamed{files, from, to} }

type renamed struct {
	files    fs.FS
	from, to string
}

var _ fs.FS = (*renamed)(nil)

func (r renamed) Open(name string) (fs.File, error) {
	file, err := r.files.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return renamedFile{file, strings.NewReader(strings.ReplaceAll(string(text), r.from, r.to))}, nil
}

type renamedFile struct {
	fs.File
	text *strings.Reader
}

var _ fs.File = (*renamedFile)(nil)

func (f renamedFile) Read(p []byte) (int, error) { return f.text.Read(p) }
