package config

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/caarlos0/env/v11"
)

// Validator is implemented by a config struct that checks itself. Validate returns all problems, joined.
type Validator interface {
	Validate() error
}

// Load fills dst, a pointer to a struct with env tags, from environ ("KEY=value" pairs, as os.Environ returns) under
// prefix (such as "RERUN_"), then calls Validate of every nested struct and of dst itself. A field tagged
// absolute:"true" is read without the prefix; its name is fixed by the interface document, or by Go (GOGC). The error
// lists every problem, one per line.
//
// Numbers and durations must not be negative; the tags min and max narrow the range, such as min:"1".
func Load(prefix string, dst any, environ []string) error {
	root := reflect.Indirect(reflect.ValueOf(dst))
	values, problems := resolve(settings(root, prefix), environ)
	if problems != nil {
		problems = fmt.Errorf("read settings:\n%w", problems)
	}
	if err := env.ParseWithOptions(dst, env.Options{Prefix: prefix, Environment: values}); err != nil {
		return errors.Join(problems, fmt.Errorf("read settings: %w", err))
	}
	if err := validate(root); err != nil {
		problems = errors.Join(problems,
			fmt.Errorf("check settings (named here without their prefix %s): %w", prefix, err))
	}
	return problems
}

// setting is one variable. key is its name in the environment; prefixed is the name under which resolve passes its
// value to the env library, which ignores the tag absolute.
type setting struct {
	key, prefixed string
	field         reflect.StructField
	value         reflect.Value
}

// settings lists every variable of v and its nested structs in the order of declaration.
func settings(v reflect.Value, prefix string) []setting {
	var all []setting
	walk(v, prefix, func(s setting) { all = append(all, s) })
	return all
}

// walk visits every variable of v and its nested structs in the order of declaration.
func walk(v reflect.Value, prefix string, visit func(setting)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if tag, ok := field.Tag.Lookup("env"); ok {
			name, _, _ := strings.Cut(tag, ",")
			s := setting{key: prefix + name, prefixed: prefix + name, field: field, value: v.Field(i)}
			if field.Tag.Get("absolute") == "true" {
				s.key = name
			}
			visit(s)
			continue
		}
		if field.Type.Kind() == reflect.Struct {
			walk(v.Field(i), prefix+field.Tag.Get("envPrefix"), visit)
		}
	}
}

func validate(v reflect.Value) error {
	var problems []error
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Type.Kind() == reflect.Struct && f.Tag.Get("env") == "" {
			problems = append(problems, validate(v.Field(i)))
		}
	}
	if checked, ok := v.Addr().Interface().(Validator); ok {
		problems = append(problems, checked.Validate())
	}
	return errors.Join(problems...)
}

// Unknown returns the variables of environ under prefix that dst does not read; they are probably misspelt.
// Variables that Kubernetes injects are left out. The caller should warn, not fail.
func Unknown(prefix string, dst any, environ []string) []string {
	known := map[string]bool{}
	walk(reflect.Indirect(reflect.ValueOf(dst)), prefix, func(s setting) { known[s.key] = true })
	var unknown []string
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(key, prefix) && !isServiceLink(key, value) && !known[key] &&
			!known[strings.TrimSuffix(key, fileSuffix)] {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Print writes every setting of cfg, a pointer to a struct, as an aligned table of variable and value.
// Secrets are masked.
func Print(w io.Writer, prefix string, cfg any) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	seen := map[string]bool{} // two listeners may read one variable
	walk(reflect.Indirect(reflect.ValueOf(cfg)), prefix, func(s setting) {
		if seen[s.key] {
			return
		}
		seen[s.key] = true
		fmt.Fprintf(tw, "%s\t%v\n", s.key, s.value.Interface())
	})
	return tw.Flush()
}
