// Command phrases compares comments, strings and documents with the project's list of words and phrases to avoid, and
// the subjects of new commits with the form that CONTRIBUTING.md asks for.
//
// It guarantees that the findings per area only shrink: baseline.txt has today's counts, a higher count fails, and a
// lower one fails until `make phrases-update` has lowered the baseline.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `usage: phrases [-update | -counts | -list] [-since commit]

Checks the files of the working directory, which is the root of the repository.
  -list           print every finding
  -counts         print the counts in the form of the baseline
  -update         lower the baseline to the counts of today; it raises none
  -since commit   also check the subjects of the commits after this one
`

func main() {
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	update := flag.Bool("update", false, "")
	counts := flag.Bool("counts", false, "")
	list := flag.Bool("list", false, "")
	since := flag.String("since", "", "")
	flag.Parse()
	failed, err := run(os.Stdout, options{update: *update, counts: *counts, list: *list, since: *since})
	if err != nil {
		fmt.Fprintln(os.Stderr, "phrases:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

type options struct {
	update, counts, list bool
	since                string
}

// run reports whether the check failed.
func run(out io.Writer, o options) (bool, error) {
	findings, err := findAll()
	switch {
	case err != nil:
		return true, err
	case o.list:
		printAll(out, findings)
		return false, nil
	case o.counts:
		return false, writeBaseline(out, count(findings))
	}
	failed, err := compareFile(out, findings, o.update)
	if err != nil || o.since == "" {
		return failed, err
	}
	wrong, err := checkSubjects(out, o.since)
	return failed || wrong, err
}

func printAll(out io.Writer, findings []finding) {
	for _, f := range findings {
		fmt.Fprintln(out, f)
	}
}
