package main

import (
	"strings"
	"testing"
)

func TestASchemaThatNothingRefersToIsRejected(t *testing.T) {
	doc := object{"paths": object{"/rerun": object{"post": object{"requestBody": object{
		"schema": object{"$ref": schemaPrefix + "lab.rerun.v1.RerunService.NewBody"}}}}}}
	overlays := func(name string) []overlay {
		return []overlay{{packageName: "lab.rerun.v1", Schemas: object{name: object{}}}}
	}
	if err := rejectUnused(doc, overlays("RerunService.NewBody")); err != nil {
		t.Errorf("a schema in use: error = %v, want none", err)
	}
	err := rejectUnused(doc, overlays("NewRequest"))
	for _, want := range []string{"lab.rerun.v1", "NewRequest", "did you mean RerunService.NewBody?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a schema under a wrong name: error = %v, want %q in it", err, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"body", "body", 0}, {"body", "bodies", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
