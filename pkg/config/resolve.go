package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	fileSuffix = "_FILE"
	maxValue   = 64 << 10 // bytes of a file with one value
)

// resolve returns the given values of the settings under the names that the env library reads. A value comes
// from the setting's own variable or from the file that its _FILE variable names. The error lists every
// invalid value. _FILE variables that belong to no setting are ignored.
func resolve(all []setting, environ []string) (map[string]string, error) {
	given := make(map[string]string, len(environ))
	for _, pair := range environ {
		if key, value, ok := strings.Cut(pair, "="); ok {
			given[key] = value
		}
	}
	own := make(map[string]bool, len(all))
	for _, s := range all {
		own[s.key] = true
	}
	values := make(map[string]string, len(all))
	var problems []error
	seen := map[string]bool{} // two listeners may read one variable
	for _, s := range all {
		value, ok, err := s.lookUp(given, own)
		if err == nil && ok && value != "" {
			err = s.check(value)
		}
		if err != nil && !seen[s.key] {
			problems = append(problems, err)
		}
		if seen[s.key] = true; ok && err == nil { // the env library uses the default for an invalid value
			values[s.prefixed] = value
		}
	}
	return values, errors.Join(problems...)
}

func (s setting) lookUp(given map[string]string, own map[string]bool) (value string, ok bool, err error) {
	value, ok = given[s.key]
	fileKey := s.key + fileSuffix
	path := given[fileKey]
	switch {
	case path == "" || own[fileKey]: // the name of a setting may itself end in _FILE
		return value, ok, nil
	case ok:
		return "", false, fmt.Errorf("both %s and %s are set: keep one", s.key, fileKey)
	}
	value, err = readValue(path)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", fileKey, err)
	}
	return value, true, nil
}

// readValue returns the content of a file without the line breaks at its end.
func readValue(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxValue+1))
	if err != nil {
		return "", err
	}
	if len(content) > maxValue {
		return "", fmt.Errorf("%s holds more than %d bytes: it must hold one value only", path, maxValue)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}
