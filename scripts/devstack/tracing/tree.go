package tracing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tree is the spans of one trace.
type Tree struct {
	byID     map[string]Span
	children map[string][]Span
}

// Grow sorts the spans of a trace.
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

// Spans returns them in no order.
func (t Tree) Spans() []Span {
	var all []Span
	for _, s := range t.byID {
		all = append(all, s)
	}
	return all
}

// Path returns "service name" of s and what led to it, the first one first.
func (t Tree) Path(s Span) []string {
	var path []string
	for ok := true; ok; s, ok = t.byID[s.Parent] {
		path = append(path, s.Service()+" "+s.Name)
	}
	slices.Reverse(path)
	return path
}

// String is the tree for people, below the caller's own span, whose id is root.
func (t Tree) String(root string) string {
	var out strings.Builder
	t.write(&out, root, 0)
	return out.String()
}

// All is the tree for people from its roots on. A span whose parent no one sent is one of them.
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
		time.Duration(s.End-s.Begin).Round(10*time.Microsecond)) // a span ends after it began
	t.write(out, s.ID, depth+1)
}
