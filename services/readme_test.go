package services_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// printed returns the variables in the service's golden file of settings.
func printed(t *testing.T, s services.Service) (variables []string) {
	t.Helper()
	for line := range strings.Lines(read(t, s.Folder(), "internal/app/testdata/print-config.txt")) {
		variables = append(variables, strings.Fields(line)[0])
	}
	return variables
}

// settings returns the variables that the service prints, and those of them that only some services have.
func settings(t *testing.T, s services.Service) (all, own []string) {
	t.Helper()
	count := map[string]int{}
	for _, other := range services.List() {
		for _, v := range printed(t, other) {
			count[strings.TrimPrefix(v, other.Prefix+"_")]++
		}
	}
	const shared = 6 // variables of at least so many services are described once, in docs/operations.md
	all = printed(t, s)
	for _, v := range all {
		if count[strings.TrimPrefix(v, s.Prefix+"_")] < shared && !encryption.MatchString(v) {
			own = append(own, v)
		}
	}
	return all, own
}

var (
	quoted   = regexp.MustCompile("`([^`\n]+)`")
	variable = regexp.MustCompile(`^[A-Z0-9_]+$`)
	// encryption lists settings of encrypted connections, which docs/security.md describes.
	encryption = regexp.MustCompile(`_TLS(_CA|_CERT|_KEY)?$`)
)

// names returns the forms in which a README may name a setting: `A_B`, `A_B/C`, `_C` or `…_C` for the last part of a
// name, `A_…` or `A_*` for all names that begin with A_.
func names(readme string) (list []string) {
	for _, found := range quoted.FindAllStringSubmatch(readme, -1) {
		list = append(list, strings.Split(found[1], "/")...)
	}
	return list
}

func told(name, by string) bool {
	if begin, ok := strings.CutSuffix(strings.ReplaceAll(by, "*", "…"), "…"); ok {
		return begin != "" && strings.Contains(name, begin)
	}
	by = strings.TrimPrefix(by, "…")
	return variable.MatchString(by) && (name == by || strings.HasSuffix(name, "_"+strings.TrimPrefix(by, "_")))
}

func TestTheREADMEsNameEverySettingAndNoOther(t *testing.T) {
	t.Parallel()
	for _, s := range services.List() {
		all, own := settings(t, s)
		readme := read(t, s.Folder(), "README.md")
		written := names(readme)
		for _, v := range own {
			if !slices.ContainsFunc(written, func(by string) bool { return told(v, by) }) {
				t.Errorf("%s/README.md does not name the setting %s", s.Folder(), v)
			}
		}
		for _, row := range firstCells(readme) {
			for _, by := range names(row) {
				if strings.HasPrefix(by, s.Prefix+"_") && variable.MatchString(by) && !slices.Contains(all, by) {
					t.Errorf("%s/README.md names %s, which is no setting", s.Folder(), by)
				}
			}
		}
	}
}

// firstCells returns the first cell of each row of a table.
func firstCells(readme string) (cells []string) {
	for line := range strings.Lines(readme) {
		if rest, ok := strings.CutPrefix(line, "| "); ok {
			cell, _, _ := strings.Cut(rest, " | ")
			cells = append(cells, cell)
		}
	}
	return cells
}

var parameter = regexp.MustCompile(`\{[^}]*\}|<\w+>`)

// TestTheREADMEsNameEveryPath checks that each README names every path of its service, completely or by its end, such
// as `/{id}/events` after the path before it.
func TestTheREADMEsNameEveryPath(t *testing.T) {
	t.Parallel()
	routes := strings.Split(strings.TrimSpace(read(t, "gateway/internal/areas/testdata/routes.golden")), "\n")
	for _, s := range services.List() {
		readme := parameter.ReplaceAllString(read(t, s.Folder(), "README.md"), "{}")
		for _, route := range routes {
			fields := strings.Fields(route)
			if !strings.HasPrefix(fields[2], "/lab."+s.Name+".v1.") {
				continue
			}
			short, also := strings.CutPrefix(fields[1], "/api-v3")
			if also && slices.Contains(routes, fields[0]+" "+short+" "+fields[2]) {
				continue // the second name of a path
			}
			if !namesPath(readme, parameter.ReplaceAllString(fields[1], "{}")) {
				t.Errorf("%s/README.md does not name %s %s", s.Folder(), fields[0], fields[1])
			}
		}
	}
}

func namesPath(readme, path string) bool {
	for at := 0; at >= 0; {
		// The end must stand alone: the end of a longer path does not name it.
		if regexp.MustCompile(`[^\w}/-]` + regexp.QuoteMeta(path[at:]) + `/?[^\w{/-]`).MatchString(readme) {
			return true
		}
		next := strings.Index(path[at+1:], "/")
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

var created = regexp.MustCompile("(?i)CREATE TABLE (?:IF NOT EXISTS )?`?(\\w+)`?")

func TestTheREADMEsNameEveryTable(t *testing.T) {
	t.Parallel()
	for _, s := range services.List() {
		folder := filepath.Join(root, s.Folder(), "migrations")
		// A service may have only tables of packages, such as the outbox. It then has the package migrations but no SQL
		// files.
		if _, err := os.Stat(filepath.Join(folder, "embed.go")); s.Migrates != (err == nil) {
			t.Fatalf("%s: services.yaml says migrates: %v, and the package migrations: %v", s.Name, s.Migrates, err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
		if err != nil {
			t.Fatal(err)
		}
		readme := read(t, s.Folder(), "README.md")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range created.FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(readme, "`"+table[1]) {
					t.Errorf("%s/README.md does not name the table %s", s.Folder(), table[1])
				}
			}
		}
	}
}
