package charts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// readmeOf returns the text of a chart's README.md: its content, its installation, and its values with defaults and
// meanings, taken from the comments of values.yaml. Rows in shared are left out.
func readmeOf(t *testing.T, name string, shared []string) string {
	t.Helper()
	meta := load(t, name).Metadata
	var all strings.Builder
	fmt.Fprintf(&all, "# %s\n\n%s. `make charts-update` writes this page from values.yaml. "+
		"[The charts' page](../README.md) describes what all charts share.\n", name, meta.Description)
	fmt.Fprintf(&all, "\n    helm -n lab install %[1]s charts/%[1]s -f my-values.yaml\n    helm -n lab test %[1]s\n", name)
	for _, value := range []string{"existingSecret", "connectorSecret"} {
		if keys := keysOf(t, name, value); len(keys) > 0 {
			fmt.Fprintf(&all, "\nKeys of the Secret `%s`: `%s`.\n", value, strings.Join(keys, "`, `"))
		}
	}
	all.WriteString("\n[VALUES.md](../VALUES.md) has the values that several charts share.\n")
	own := slices.DeleteFunc(valuesOf(t, name), func(row string) bool { return slices.Contains(shared, row) })
	all.WriteString(table(own))
	return all.String()
}

// sharedRows returns the rows that at least three charts have in common, and the charts of each row.
func sharedRows(t *testing.T) (rows []string, charts map[string][]string) {
	t.Helper()
	charts = map[string][]string{}
	for _, name := range names(t) {
		for _, row := range valuesOf(t, name) {
			if charts[row] = append(charts[row], name); len(charts[row]) == 1 {
				rows = append(rows, row)
			}
		}
	}
	const several = 3
	return slices.DeleteFunc(rows, func(row string) bool { return len(charts[row]) < several }), charts
}

// which describes a subset of the charts in a few words: "" for all, "not a, b", or "a, b".
func which(all, some []string) string {
	missing := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
	switch {
	case len(missing) == 0:
		return ""
	case len(missing) < len(some):
		return "not " + strings.Join(missing, ", ")
	}
	return strings.Join(some, ", ")
}

// keysOf returns the variables that are read from the Secret that a value names.
func keysOf(t *testing.T, name, value string) (keys []string) {
	t.Helper()
	secret, has := load(t, name).Values[value]
	for v, e := range environment(t, name, "default") {
		if has && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == secret {
			keys = append(keys, strings.TrimPrefix(v, prefix(t, name)))
		}
	}
	slices.Sort(keys)
	return keys
}

func table(rows []string) string {
	return "\n| value | default | meaning |\n|---|---|---|\n" + strings.Join(rows, "")
}

// valuesOf returns a row for each value of a chart, with its default and meaning.
func valuesOf(t *testing.T, name string) (all []string) {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root, name, "values.yaml"))), &document); err != nil {
		t.Fatal(err)
	}
	return rows(nil, "", document.Content[0])
}

// rows appends a row for each value below path.
func rows(to []string, path string, mapping *yaml.Node) []string {
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := strings.TrimPrefix(path+"."+key.Value, ".")
		inner := value.Kind == yaml.MappingNode && value.Style != yaml.FlowStyle
		if meaning := meaning(key, value); !inner || meaning != "" {
			to = append(to, fmt.Sprintf("| `%s` | %s | %s |\n", name, initial(value, inner), meaning))
		}
		if inner {
			to = rows(to, name, value)
		}
	}
	return to
}

// meaning returns the comment of a value as one line.
func meaning(key, value *yaml.Node) string {
	var words []string
	head := key.HeadComment
	if blocks := strings.Split(head, "\n\n"); len(blocks) > 1 {
		head = blocks[len(blocks)-1] // the comment of the file precedes that of the first key
	}
	for _, comment := range []string{head, key.LineComment, value.LineComment} {
		for line := range strings.Lines(comment) {
			words = append(words, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#")))
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(words, " ")), "|", `\|`)
}

// initial returns a default as YAML, or "" for a mapping whose values have rows of their own.
func initial(value *yaml.Node, inner bool) string {
	if inner {
		return ""
	}
	plain := *value
	plain.HeadComment, plain.LineComment, plain.FootComment = "", "", ""
	if plain.Kind != yaml.ScalarNode {
		plain.Style = yaml.FlowStyle
	}
	text, err := yaml.Marshal(&plain)
	if err != nil {
		return ""
	}
	return "`" + strings.Join(strings.Fields(string(text)), " ") + "`"
}

func umbrellaReadme(t *testing.T) string {
	t.Helper()
	head := "# %[1]s\n\n%[2]s. `make charts-update` writes this page from values.yaml. " +
		"[The charts' page](../README.md) describes what all charts share.\n" +
		"\n    helm -n lab install %[1]s charts/%[1]s -f my-values.yaml\n    helm -n lab test %[1]s\n" +
		"\nSet a chart's own values below its name: %[3]s.\n"
	var links []string
	for _, name := range names(t) {
		links = append(links, fmt.Sprintf("[%[1]s](../%[1]s/README.md)", name))
	}
	return fmt.Sprintf(head, umbrella, load(t, umbrella).Metadata.Description, strings.Join(links, ", ")) + table(valuesOf(t, umbrella))
}

func TestREADMEsAreThoseOfTheValues(t *testing.T) {
	shared, charts := sharedRows(t)
	var common strings.Builder
	common.WriteString("# Values of several charts\n\n`make charts-update` writes this page from values.yaml of the charts. " +
		"Most of these values can be set once for all charts, in `global` of [lab](lab/README.md).\n\n" +
		"| value | default | meaning | charts with this value; empty: all |\n|---|---|---|---|\n")
	for _, row := range shared {
		fmt.Fprintf(&common, "%s %s |\n", strings.TrimSuffix(row, "\n"), which(names(t), charts[row]))
	}
	golden(t, filepath.Join(root, "VALUES.md"), common.String())
	for _, name := range names(t) {
		golden(t, filepath.Join(root, name, "README.md"), readmeOf(t, name, shared))
	}
	golden(t, filepath.Join(root, umbrella, "README.md"), umbrellaReadme(t))
}
