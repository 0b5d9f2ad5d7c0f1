package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

const baselineFile = "scripts/tools/phrases/baseline.txt"

// key is what findings are counted by.
type key struct{ area, phrase string }

type counts map[key]int

func count(findings []finding) counts {
	n := counts{}
	for _, f := range findings {
		n[keyOf(f)] += f.number
	}
	return n
}

func keyOf(f finding) key { return key{area(f.file), f.phrase} }

func (c counts) sorted() []key {
	return slices.SortedFunc(maps.Keys(c), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.area, b.area), cmp.Compare(a.phrase, b.phrase))
	})
}

func writeBaseline(out io.Writer, c counts) error {
	for _, k := range c.sorted() {
		if _, err := fmt.Fprintf(out, "%s\t%d\t%s\n", k.area, c[k], k.phrase); err != nil {
			return err
		}
	}
	return nil
}

func readBaseline(in io.Reader) (counts, error) {
	c := counts{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: want folder, count and phrase with tabs between, got %q", baselineFile, lines.Text())
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("%s: count in %q: %w", baselineFile, lines.Text(), err)
		}
		c[key{fields[0], fields[2]}] = n
	}
	return c, lines.Err()
}

// compareFile compares the findings with the baseline, or lowers the baseline first.
func compareFile(out io.Writer, findings []finding, update bool) (bool, error) {
	text, err := os.ReadFile(baselineFile)
	if err != nil {
		return true, err
	}
	base, err := readBaseline(strings.NewReader(string(text)))
	if err != nil {
		return true, err
	}
	if update {
		base = lowered(base, count(findings))
		var file strings.Builder
		if err := writeBaseline(&file, base); err != nil {
			return true, err
		}
		if err := os.WriteFile(baselineFile, []byte(file.String()), 0o644); err != nil {
			return true, err
		}
	}
	return compare(out, base, findings), nil
}

// lowered is the baseline with the counts that are smaller today. What is not in it stays out.
func lowered(base, today counts) counts {
	smaller := counts{}
	for k, n := range base {
		if n = min(n, today[k]); n > 0 {
			smaller[k] = n
		}
	}
	return smaller
}

// compare prints what differs from the baseline, and reports whether anything does.
func compare(out io.Writer, base counts, findings []finding) bool {
	today := count(findings)
	raised, shrunk := 0, 0
	for _, k := range today.sorted() {
		if today[k] > base[k] {
			raised++
			printRaised(out, k, base[k], today[k], findings)
		}
	}
	for _, k := range base.sorted() {
		if today[k] < base[k] {
			shrunk++
			fmt.Fprintf(out, "fewer: %s: %q: %d, the baseline has %d\n", k.area, k.phrase, today[k], base[k])
		}
	}
	if shrunk > 0 {
		fmt.Fprintln(out, "commit the smaller baseline: run make phrases-update, which can only shrink it")
	}
	return raised+shrunk > 0
}

func printRaised(out io.Writer, k key, was, is int, findings []finding) {
	fmt.Fprintf(out, "new: %s: %q: %d, the baseline has %d; one of\n", k.area, k.phrase, is, was)
	for _, f := range findings {
		if keyOf(f) == k {
			fmt.Fprintf(out, "  %s\n", f)
		}
	}
}
