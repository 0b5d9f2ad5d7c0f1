package main

import (
	"context"
	"fmt"
	"slices"
)

// checkRebuild rebuilds the search index after an upgrade, then returns to the previous version in the order of the
// handbook: the index first. Searches continue throughout, and a new patient is found after each step.
func checkRebuild(ctx context.Context, c cluster) error {
	indexing := []string{"cdc", "search"}
	searches := slices.DeleteFunc(slices.Clone(reads), func(r request) bool { return r.service != "search" })
	again := func(verb ...string) error {
		rebuild := []string{"-n", c.space, "exec", "deployment/cdc", "--", "/ko-app/cdc", "rebuild"}
		if _, err := c.kubectl(append(rebuild, verb...)...); err != nil {
			return err
		}
		return c.captured(ctx)
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"helm upgrade", func() error {
			return atOnce(indexing, func(name string) error {
				return c.install(name, "charts/"+name, "--set", "podAnnotations.release=after")
			})
		}},
		{"cdc rebuild", func() error { return again() }},
		{"cdc rebuild --rollback", func() error { return again("--rollback") }},
		{"helm rollback", func() error { return c.rollback(indexing) }},
		{"cdc rebuild --discard", func() error { return again("--discard") }},
	}
	counts, err := c.underLoad(ctx, searches, func() error {
		for _, s := range steps {
			if err := step("  "+s.what, s.do); err != nil {
				return fmt.Errorf("%w\n%w", err, c.whyNot("cdc"))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return report("the index rebuilt, and back", counts, 0)
}
