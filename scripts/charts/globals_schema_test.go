package charts

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// globals returns the values of global that the umbrella has, by name, each merged with the charts' values of that
// name.
func globals(t *testing.T) map[string]any {
	t.Helper()
	said := values(t, filepath.Join(root, umbrella, "values.yaml"))["global"].(map[string]any)
	delete(said, "ignored")
	for key := range said {
		if key == "image" {
			continue // no chart has its registry
		}
		for _, name := range names(t) {
			of, has := values(t, filepath.Join(root, name, "values.yaml"))[key]
			if _, isMap := of.(map[string]any); has && !isMap && !reflect.DeepEqual(of, said[key]) {
				t.Errorf("global.%s is %v, want the default of %s, %v: a default of global would change the chart's", key, said[key], name, of)
			} else if has {
				said[key] = union(said[key], of)
			}
		}
	}
	return said
}

func union(a, b any) any {
	from, isMap := a.(map[string]any)
	with, both := b.(map[string]any)
	if !isMap || !both {
		return b
	}
	all := maps.Clone(from)
	for key, value := range with {
		all[key] = union(all[key], value)
	}
	return all
}

// globalOf returns the schema of global in a chart with these properties. Values that the chart reads are checked as
// strictly there. labkit.strangers refuses names that no chart reads, because only it sees the charts around this one.
func globalOf(t *testing.T, properties schema) schema {
	t.Helper()
	var all []schema
	known := globals(t)
	for _, key := range slices.Sorted(maps.Keys(known)) {
		own, has := properties[key]
		if !has {
			continue
		}
		of := describe(key, known[key])
		if key == "migration" {
			of["properties"].(schema)["secretKeys"] = places(everySecret(t))
		}
		if reflect.DeepEqual(of, own) {
			of = schema{"$ref": "#/properties/" + key}
		}
		all = append(all, schema{"if": ignored(key), "else": schema{"properties": schema{key: of}}})
	}
	return schema{"type": "object", "properties": schema{"ignored": words()}, "allOf": all}
}

// ignored returns a schema for a global whose list ignored contains key, which then belongs to an enclosing chart.
func ignored(key string) schema {
	return schema{"required": []string{"ignored"}, "properties": schema{"ignored": schema{"contains": schema{"const": key}}}}
}

// dev returns the schemas of the two ways to set the environment to dev, which has no patients.
func dev() []schema {
	is := schema{"environment": schema{"const": "dev"}}
	global := schema{"required": []string{"environment"}, "properties": is, "not": ignored("environment")}
	return []schema{
		{"required": []string{"environment"}, "properties": is},
		{"required": []string{"global"}, "properties": schema{"environment": schema{"const": ""}, "global": global}},
	}
}

func everySecret(t *testing.T) (variables []string) {
	t.Helper()
	for _, name := range names(t) {
		variables = append(variables, secretNames(t, name)...)
	}
	return variables
}

func umbrellaSchema(t *testing.T) string {
	t.Helper()
	all := describe("", values(t, filepath.Join(root, umbrella, "values.yaml")))
	properties := all["properties"].(schema)
	for _, name := range append(names(t), "engines") {
		properties[name] = schema{"type": "object"}
	}
	properties["global"] = schema{"type": "object", "properties": schema{"ignored": words()}} // the charts' schemas check the others
	return text07(t, all)
}

// engines is the subchart with the engines of a trial.
const engines = umbrella + "/charts/engines"

func enginesSchema(t *testing.T) string {
	t.Helper()
	all := describe("", values(t, filepath.Join(root, engines, "values.yaml")))
	for _, key := range []string{"x-shared", "exports", "global"} { // used by the chart itself and by Helm
		all["properties"].(schema)[key] = schema{"type": "object"}
	}
	return text07(t, all)
}
