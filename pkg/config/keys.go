package config

import (
	"errors"
	"fmt"
	"strings"
)

const minKeyBytes = 32

// Keys lists secrets with the names of their variables.
type Keys []struct {
	Name   string
	Secret Secret
}

// Check returns an error for keys that are too short, that begin or end with a space, and that occur twice, because a
// signature made for one purpose must not be valid for another. Secrets that are not set are skipped.
func (k Keys) Check() error {
	var problems []error
	owners := map[string]string{}
	for _, named := range k {
		for _, key := range named.Secret.Keys() {
			text := string(key)
			owner, twice := owners[text]
			switch {
			case len(key) < minKeyBytes:
				problems = append(problems, fmt.Errorf("%s must have at least %d bytes, and so must each key of a list "+
					"separated by commas", named.Name, minKeyBytes))
			case strings.TrimSpace(text) != text:
				problems = append(problems, fmt.Errorf("%s begins or ends with a space: separate secrets by commas without spaces",
					named.Name))
			case twice && owner == named.Name:
				problems = append(problems, fmt.Errorf("%s names the same secret twice", named.Name))
			case twice:
				problems = append(problems, fmt.Errorf("%s and %s must differ", owner, named.Name))
			}
			owners[text] = named.Name
		}
	}
	return errors.Join(problems...)
}
