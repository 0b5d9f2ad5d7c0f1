package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// dangerTag declares at a setting which of its values are dangerous although they are allowed, and what they mean, as
// in danger:"open: callers without a credential enqueue tasks". Several values are separated by |; * stands for every
// value except the empty one, and an empty entry for the empty value.
const dangerTag = "danger"

// Dangers returns a sentence for each setting of cfg whose value is declared as dangerous, in the order of the
// settings.
func Dangers(prefix string, cfg any) []string {
	var found []string
	walk(reflect.Indirect(reflect.ValueOf(cfg)), prefix, func(s setting) {
		sentence, in := s.danger()
		if in && !slices.Contains(found, sentence) { // two listeners may read one variable
			found = append(found, sentence)
		}
	})
	return found
}

func (s setting) danger() (sentence string, in bool) {
	values, meaning, declared := strings.Cut(s.field.Tag.Get(dangerTag), ": ")
	value := strings.Trim(fmt.Sprint(s.value.Interface()), "[]")
	if !declared || !slices.Contains(strings.Split(values, "|"), value) && (values != "*" || value == "") {
		return "", false
	}
	if value == "" {
		value = "empty"
	}
	return fmt.Sprintf("%s is %s: %s", s.key, value, meaning), true
}
