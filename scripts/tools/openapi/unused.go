package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const schemaPrefix = "#/components/schemas/"

// rejectUnused returns an error for an overlay's schema without references in the document. Its name must be wrong, and
// clients would see "any JSON" instead.
func rejectUnused(doc object, all []overlay) error {
	used := map[string]bool{}
	collectReferences(doc, used)
	for _, o := range all {
		for _, name := range slices.Sorted(maps.Keys(o.Schemas)) {
			if full := o.packageName + "." + name; !used[full] {
				return fmt.Errorf("%s.openapi.yaml: nothing refers to schema %s; did you mean %s? "+
					"The body of an RPC with path parameters is <Service>.<Rpc>Body", o.packageName, name,
					strings.TrimPrefix(nearest(full, slices.Sorted(maps.Keys(used))), o.packageName+"."))
			}
		}
	}
	return nil
}

func collectReferences(node any, used map[string]bool) {
	switch n := node.(type) {
	case object:
		if ref, ok := n["$ref"].(string); ok {
			if name, ok := strings.CutPrefix(ref, schemaPrefix); ok {
				used[name] = true
			}
		}
		for _, below := range n {
			collectReferences(below, used)
		}
	case []any:
		for _, below := range n {
			collectReferences(below, used)
		}
	}
}

// nearest returns the candidate with the smallest edit distance to name.
func nearest(name string, candidates []string) string {
	best, least := "", len(name)+1
	for _, c := range candidates {
		if d := distance(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of two ASCII names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
