package tracing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tree holds the spans of one trace by id and by parent.
type Tree struct {
	byID     map[string]Span
	children map[string][]Span
}

// Grow builds the tree of one trace from spans of any traces.
func Grow(trace string, spans []Span) Tree {
	t := Tree{byID: map[string]Span{}, children: map[string][]Span{}}
	for _, s := range spans {
		if s.Trace == trace {
			t.byID[s.ID] = s
			t.children[s.Parent] = append(t.children[s.Parent], s)
		}
	}
	for _, siblings := range t.children {
		slices.SortFunc(siblings, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
	}
	return t
}

// Spans returns the spans in no particular order.
func (t Tree) Spans() []Span {
	var all []Span
	for _, s := range t.byID {
		all = append(all, s)
	}
	return all
}

// Path returns "service name" of s and its known ancestors, the first ancestor first.
func (t Tree) Path(s Span) []string {
	var path []string
	for ok := true; ok; s, ok = t.byID[s.Parent] {
		path = append(path, s.Service()+" "+s.Name)
	}
	slices.Reverse(path)
	return path
}

// String returns the tree as indented lines, below the span with the id root, which need not be in the tree.
func (t Tree) String(root string) string {
	var out strings.Builder
	t.write(&out, root, 0)
	return out.String()
}

// All returns the whole tree as indented lines. A span whose parent was not received is a root.
func (t Tree) All() string {
	var roots []Span
	for parent, children := range t.children {
		if _, sent := t.byID[parent]; !sent {
			roots = append(roots, children...)
		}
	}
	slices.SortFunc(roots, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
	var out strings.Builder
	for _, s := range roots {
		t.line(&out, s, 0)
	}
	return out.String()
}

func (t Tree) write(out *strings.Builder, parent string, depth int) {
	for _, s := range t.children[parent] {
		t.line(out, s, depth)
	}
}

func (t Tree) line(out *strings.Builder, s Span, depth int) {
	_, _ = fmt.Fprintf(out, "%s%-14s %s  %v\n", strings.Repeat("  ", depth), s.Service(), s.Name,
		time.Duration(s.End-s.Begin).Round(10*time.Microsecond)) // no overflow, a span ends after it began
	t.write(out, s.ID, depth+1)
}
