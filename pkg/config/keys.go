package config

import (
	"errors"
	"fmt"
	"strings"
)

const leastKey = 32 // bytes

// Keys are secrets by the names of their variables.
type Keys []struct {
	Name   string
	Secret Secret
}

// Check refuses keys that are short, and a key that is there twice: what is signed for one purpose must not count for
// another. Secrets that are not set are none.
func (k Keys) Check() error {
	var problems []error
	owners := map[string]string{}
	for _, named := range k {
		for _, key := range named.Secret.Keys() {
			text := string(key)
			owner, twice := owners[text]
			switch {
			case len(key) < leastKey:
				problems = append(problems, fmt.Errorf("%s must have at least %d bytes, and so must each of several that "+
					"are separated by commas", named.Name, leastKey))
			case strings.TrimSpace(text) != text:
				problems = append(problems, fmt.Errorf("%s begins or ends with a space: separate secrets by a comma alone",
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
