package main

import (
	"maps"
	"strings"
	"testing"
)

func TestTheBaselineOnlyShrinks(t *testing.T) {
	base := counts{{"docs", "nobody"}: 3, {"pkg/clock", "nobody"}: 2, {"pkg/clock", "is away"}: 1}
	today := counts{{"docs", "nobody"}: 5, {"pkg/clock", "nobody"}: 1, {"pkg/new", "nobody"}: 1}
	want := counts{{"docs", "nobody"}: 3, {"pkg/clock", "nobody"}: 1}
	if got := lowered(base, today); !maps.Equal(got, want) {
		t.Errorf("lowered baseline: want %v, got %v", want, got)
	}
}

func TestCompare(t *testing.T) {
	findings := []finding{
		{file: "pkg/clock/clock.go", line: 4, phrase: "nobody", hint: "no one", number: 1},
		{file: "pkg/clock/virtual/clock.go", line: 9, phrase: "nobody", hint: "no one", number: 1},
		{file: "README.md", line: 1, phrase: "nobody", hint: "no one", number: 1},
	}
	const root = ".\t1\tnobody\n"
	cases := []struct{ name, base, want string }{
		{"equal", root + "pkg/clock\t2\tnobody\n", ""},
		{"more than the baseline", root + "pkg/clock\t1\tnobody\n", `new: pkg/clock: "nobody": 2, the baseline has 1; one of
  pkg/clock/clock.go:4: "nobody": write no one
  pkg/clock/virtual/clock.go:9: "nobody": write no one
`},
		{"not in the baseline", "pkg/clock\t2\tnobody\n", `new: .: "nobody": 1, the baseline has 0; one of
  README.md:1: "nobody": write no one
`},
		{"fewer", root + "pkg/clock\t3\tnobody\n", `fewer: pkg/clock: "nobody": 2, the baseline has 3
commit the smaller baseline: run make phrases-update, which can only shrink it
`},
		{"none left", root + "docs\t1\tis away\npkg/clock\t2\tnobody\n", `fewer: docs: "is away": 0, the baseline has 1
commit the smaller baseline: run make phrases-update, which can only shrink it
`},
	}
	for _, c := range cases {
		base, err := readBaseline(strings.NewReader(c.base))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var out strings.Builder
		failed := compare(&out, base, findings)
		if out.String() != c.want || failed != (c.want != "") {
			t.Errorf("%s: want failed %v and\n%s\ngot failed %v and\n%s", c.name, c.want != "", c.want, failed, out.String())
		}
	}
}

func TestTheBaselineReadsWhatItWrites(t *testing.T) {
	want := counts{{"docs/adr", "says whether, says that, says so"}: 3, {".", "nobody"}: 1}
	var file strings.Builder
	if err := writeBaseline(&file, want); err != nil {
		t.Fatal(err)
	}
	const text = ".\t1\tnobody\ndocs/adr\t3\tsays whether, says that, says so\n"
	if file.String() != text {
		t.Errorf("baseline: want %q, got %q", text, file.String())
	}
	got, err := readBaseline(strings.NewReader(file.String()))
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read back: want %v, got %v and error %v", want, got, err)
	}
}

func TestABrokenBaselineIsRefused(t *testing.T) {
	for _, text := range []string{"docs 1 nobody\n", "docs\tone\tnobody\n"} {
		if _, err := readBaseline(strings.NewReader(text)); err == nil {
			t.Errorf("baseline %q: want an error, got none", text)
		}
	}
}
