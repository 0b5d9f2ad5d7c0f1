package seed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Fixture is one parsed fixture file. Numbers keep their text.
type Fixture struct {
	MySQL    []Table
	Mongo    []Collection
	Sessions []Session
	Redis    Redis
	Objects  []Object
	Clear    bool // first delete all content of the named tables and collections
}

// Table is one MySQL table with its rows, in the order of the file.
type Table struct {
	Name string
	Rows []Row
}

// Row maps columns to values. A value is nil, a bool, json.Number or string, or json.RawMessage for an object or array.
type Row map[string]any

// Collection is one collection of the document store with its documents, as relaxed extended JSON.
type Collection struct {
	Name      string
	Documents []json.RawMessage
}

// Redis holds the keys to write unchanged: hashes with their fields, and strings.
type Redis struct {
	Hash   map[string]map[string]scalar `json:"hash"`
	String map[string]scalar            `json:"string"`
}

// Object is one object of the object store. In the fixture, its content is a text or the name of a file.
type Object struct {
	Key     string
	Content []byte
}

// ReadFile parses the fixture at path. File names of objects are relative to its folder.
func ReadFile(path string) (*Fixture, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read fixture: %w", err)
	}
	fixture, err := Parse(text, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fixture, nil
}

// Parse parses the text of a fixture. File names of objects are relative to dir.
func Parse(text []byte, dir string) (*Fixture, error) {
	var raw struct {
		MySQL    ordered                      `json:"mysql"`
		Mongo    ordered                      `json:"mongo"`
		Sessions []map[string]json.RawMessage `json:"sessions"`
		Redis    Redis                        `json:"redis"`
		Objects  []rawObject                  `json:"objects"`
		Clear    bool                         `json:"clear"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf("not a fixture: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("not a fixture: text after the closing brace")
	}
	fixture := &Fixture{Redis: raw.Redis, Clear: raw.Clear}
	var err error
	if fixture.MySQL, err = parseTables(raw.MySQL); err != nil {
		return nil, err
	}
	if fixture.Mongo, err = parseCollections(raw.Mongo); err != nil {
		return nil, err
	}
	if fixture.Sessions, err = parseSessions(raw.Sessions); err != nil {
		return nil, err
	}
	if fixture.Objects, err = parseObjects(raw.Objects, dir); err != nil {
		return nil, err
	}
	return fixture, nil
}

func parseTables(in ordered) ([]Table, error) {
	tables := make([]Table, 0, len(in))
	for _, entry := range in {
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(entry.value, &rows); err != nil {
			return nil, fmt.Errorf("mysql.%s: want a list of rows: %w", entry.key, err)
		}
		table := Table{Name: entry.key, Rows: make([]Row, len(rows))}
		for i, columns := range rows {
			row := make(Row, len(columns))
			for column, value := range columns {
				row[column] = parseValue(value)
			}
			table.Rows[i] = row
		}
		tables = append(tables, table)
	}
	return tables, nil
}

// parseValue keeps numbers and nested JSON as text, because a float64 would round ids and amounts.
func parseValue(raw json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return raw
	}
	switch value.(type) {
	case map[string]any, []any:
		return compact(raw)
	default:
		return value
	}
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw
	}
	return b.Bytes()
}

func parseCollections(in ordered) ([]Collection, error) {
	collections := make([]Collection, 0, len(in))
	for _, entry := range in {
		collection := Collection{Name: entry.key}
		if err := json.Unmarshal(entry.value, &collection.Documents); err != nil {
			return nil, fmt.Errorf("mongo.%s: want a list of documents: %w", entry.key, err)
		}
		collections = append(collections, collection)
	}
	return collections, nil
}

type rawObject struct {
	Key  string  `json:"key"`
	File *string `json:"file"`
	Text *string `json:"text"`
}

func parseObjects(in []rawObject, dir string) ([]Object, error) {
	objects := make([]Object, 0, len(in))
	for i, raw := range in {
		switch {
		case !fs.ValidPath(raw.Key) || raw.Key == ".":
			return nil, fmt.Errorf("objects[%d]: key %q is not a plain relative path", i, raw.Key)
		case (raw.File == nil) == (raw.Text == nil):
			return nil, fmt.Errorf("objects[%d] (%s): give exactly one of file and text", i, raw.Key)
		case raw.Text != nil:
			objects = append(objects, Object{Key: raw.Key, Content: []byte(*raw.Text)})
			continue
		}
		content, err := readObject(dir, *raw.File)
		if err != nil {
			return nil, fmt.Errorf("objects[%d] (%s): %w", i, raw.Key, err)
		}
		objects = append(objects, Object{Key: raw.Key, Content: content})
	}
	return objects, nil
}

func readObject(dir, name string) ([]byte, error) {
	if filepath.IsAbs(name) {
		return os.ReadFile(name)
	}
	return os.ReadFile(filepath.Join(dir, name))
}
