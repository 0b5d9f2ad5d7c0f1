// Command phrases compares comments, strings and documents with the project's list of words and phrases to avoid, and
// the subjects of new commits with the form that CONTRIBUTING.md asks for.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `usage: phrases [-since commit]

Prints every word and phrase to avoid in the files of the working directory, which is the root of the repository, and
fails when there is one.
  -since commit   also check the subjects of the commits after this one
`

func main() {
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	since := flag.String("since", "", "")
	flag.Parse()
	failed, err := run(os.Stdout, *since)
	if err != nil {
		fmt.Fprintln(os.Stderr, "phrases:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

// run reports whether the check failed.
func run(out io.Writer, since string) (bool, error) {
	findings, err := findAll()
	if err != nil {
		return true, err
	}
	for _, f := range findings {
		fmt.Fprintln(out, f)
	}
	if since == "" {
		return len(findings) > 0, nil
	}
	wrong, err := checkSubjects(out, since)
	return len(findings) > 0 || wrong, err
}
