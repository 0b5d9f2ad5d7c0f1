package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const config = "extra-words:\n  - {typo: mends,       correction: fixes}\n  - {typo: mend,        correction: fix}\n"

func TestEveryPhraseIsFound(t *testing.T) {
	cases := []struct{ file, source, want string }{
		{"a.md", "It tells whether it is so.", "tells whether"},
		{"a.md", "It Tells Whether it is so.", "tells whether"},
		{"a.md", "It tells\n  whether it is so.", "tells whether"},
		{"a.md", "It tells\n\nwhether it is so.", ""},
		{"a.md", "It tells that it is, and tells of it.", "tells that, tells of|tells that, tells of"},
		{"a.md", "It says so, says that it says whether.", strings.Repeat("|says whether, says that, says so", 3)[1:]},
		{"a.md", "It is no error. They are no errors.", "is no error|is no error"},
		{"a.md", "It goes on. Go on. Trying on.", "goes on, trying on|goes on, trying on|goes on, trying on"},
		{"a.md", "It is away; they are away; go away.", "is away|is away"},
		{"a.md", "It is gone.", "is gone"},
		{"a.md", "A job is born. A newborn.", "is born"},
		{"a.md", "what became of it", "what became of"},
		{"a.md", "those that and those who", "those that, those who|those that, those who"},
		{"a.md", "looks at, looked at, a look at", "looks at|looks at|looks at"},
		{"a.md", "left alone; leave it all alone; leave it. Alone", "left alone|left alone"},
		{"a.md", "not any more", "not any more"},
		{"a.md", "for a while, in vain", "for a while, in vain|for a while, in vain"},
		{"a.md", "comes back, takes over", "comes back, takes over|comes back, takes over"},
		{"a.md", "works out", "works out"},
		{"a.md", "these have theirs, that is theirs", "have theirs, is theirs|have theirs, is theirs"},
		{"a.md", "nobody", "nobody"},
		{"a.md", "Who has another is none of them.", "Who as a subject"},
		{"a.md", "Who has another? One who has.", ""},
		{"a.md", "He mends it; amend it.", "mends"},
		{"a.go", "package a\n\n// it mends\n", ""}, // misspell refuses the word
	}
	for _, c := range cases {
		if got := found(c.file, c.source); got != c.want {
			t.Errorf("findings in %q: want %q, got %q", c.source, c.want, got)
		}
	}
}

func TestOnlyProseIsRead(t *testing.T) {
	cases := []struct{ name, file, source, want string }{
		{"comment", "a.go", "package a // nobody\n", "nobody"},
		{"block comment", "a.go", "package a /* nobody */\n", "nobody"},
		{"across lines", "a.go", "package a\n\n// it tells\n// whether\n", "tells whether"},
		{"across lines of an indented comment", "a.go", "package a\n\nfunc a() {\n\t// it tells\n\t// whether\n}\n", "tells whether"},
		{"not across code", "a.go", "package a\n\nvar b int // it tells\nvar c int // whether\n", ""},
		{"not across paragraphs", "a.go", "package a\n\n// it tells\n//\n// whether\n", ""},
		{"string", "a.go", "package a\n\nvar b = \"a\\nnobody\"\n", "nobody"},
		{"raw string", "a.go", "package a\n\nvar b = `it tells\nwhether`\n", "tells whether"},
		{"not across strings", "a.go", "package a\n\nvar b = \"tells \" + \"whether\"\n", ""},
		{"identifier", "a.go", "package a\n\nvar nobody, born int\n", ""},
		{"part of an identifier in a comment", "a.go", "package a // nobodyElse\n", ""},
		{"rune", "a.go", "package a\n\nvar b = '\"' // nobody\n", "nobody"},
		{"file that does not parse", "a.go", "packag ( // nobody\n", "nobody"},
		{"Lua comment", "a.lua", "local nobody = 'nobody' -- nobody\n", "nobody"},
		{"Lua block", "a.lua", "--[[ it tells\nwhether ]] local nobody\n", "tells whether"},
		{"SQL comment", "a.sql", "SELECT nobody; -- nobody\n", "nobody"},
		{"SQL string with a mark", "a.sql", "SELECT '-- nobody';\n", ""},
		{"proto comment", "a.proto", "// tells\n// whether\nstring nobody = 1;\n", "tells whether"},
		{"style sheet", "a.css", "/* nobody */ .nobody { }\n", "nobody"},
		{"script comment", "a.js", "let nobody // nobody\n", "nobody"},
		{"script string", "a.js", "let nobody = 'nobody'\n", "nobody"},
		{"template string", "a.js", "let nobody = `tells\nwhether`\n", "tells whether"},
		{"regular expression with a quote", "a.js", "x.replace(/['\"]/, nobody); // nobody\n", "nobody"},
		{"division", "a.js", "let a = b / c; // nobody\n", "nobody"},
		{"comment without end", "a.css", "/* nobody", "nobody"},
		{"shell", "a.sh", "# tells\n# whether\necho nobody\n", "nobody|tells whether"},
		{"values", "a.yaml", "summary: nobody\n", "nobody"},
		{"page", "a.html", "<p>nobody</p>", "nobody"},
		{"make", "Makefile", "run: ## nobody\n", "nobody"},
	}
	for _, c := range cases {
		if got := found(c.file, c.source); got != c.want {
			t.Errorf("%s: findings in %q: want %q, got %q", c.name, c.source, c.want, got)
		}
	}
}

func TestACommentThatOnlyNamesTheInterface(t *testing.T) {
	const declared = "\nfunc (Reaps) Unadopted() {}\n"
	cases := []struct{ name, source, want string }{
		{"alone", "package a\n\n// Unadopted implements reap.Store." + declared, "X implements Y"},
		{"two methods", "package a\n\n// A implements b.C.\nfunc A() {}\n\n// D implements b.C.\nfunc D() {}\n", "X implements Y|X implements Y"},
		{"with more to say", "package a\n\n// Unadopted implements reap.Store. It returns nil." + declared, ""},
		{"with more on the next line", "package a\n\n// Unadopted implements reap.Store.\n// It returns nil." + declared, ""},
		{"with more before", "package a\n\n// Rows of all kinds.\n// Unadopted implements reap.Store." + declared, ""},
		{"what it is for", "package a\n\n// Unadopted implements reap.Store for tests." + declared, ""},
	}
	for _, c := range cases {
		if got := found("a.go", c.source); got != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
	}
}

func TestAFindingNamesItsLine(t *testing.T) {
	source := "package a\n\n// One.\n//\n// It tells\n// whether.\n"
	got := findIn(phrases, "a.go", goProse([]byte(source)))
	want := `a.go:5: "tells whether": write reports whether`
	if len(got) != 1 || got[0].String() != want {
		t.Errorf("findings: want %q, got %q", want, got)
	}
}

func TestAREADMEHasALimit(t *testing.T) {
	cases := []struct {
		file  string
		words int
		want  int // number of findings
	}{
		{"services/callout/README.md", 1200, 0},
		{"services/callout/README.md", 1207, 1},
		{"docs/operations.md", 1207, 0},
		{"charts/cdc/README.md", 1207, 0},
	}
	for _, c := range cases {
		if got := tooLong(c.file, strings.Repeat("word ", c.words)); len(got) != c.want {
			t.Errorf("%s of %d words: want %d findings, got %v", c.file, c.words, c.want, got)
		}
	}
}

// TestTheWordsAreTheLinters checks that every word of the linter's list becomes a rule.
func TestTheWordsAreTheLinters(t *testing.T) {
	text, err := os.ReadFile("../../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules := wordRules(string(text))
	if want := strings.Count(string(text), "{typo:"); want == 0 || len(rules) != want {
		t.Errorf("words read from .golangci.yml: want all %d and at least one, got %d", want, len(rules))
	}
}

// found returns the phrases found in a source, sorted and joined by |.
func found(file, source string) string {
	var names []string
	for _, f := range findIn(append(slices.Clone(phrases), wordRules(config)...), file, reader(file)([]byte(source))) {
		names = append(names, f.phrase)
	}
	slices.Sort(names)
	return strings.Join(names, "|")
}
