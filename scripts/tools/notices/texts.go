package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licences and others match the names of files whose text must accompany binaries. Every module needs a file that
// licences matches.
var (
	licences = regexp.MustCompile(`(?i)^(un)?licen[cs]e([-._].*)?$|^copying([-._].*)?$`)
	others   = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-._].*)?$`)
	code     = regexp.MustCompile(`(?i)\.(go|s|h|c|py|sh|json|ya?ml)$`)
)

const rule = "\n================================================================================\n"

// notices returns the content of a program's NOTICES.txt: its own licence, the list of modules, and the texts of each.
func notices(program string, own []byte, modules []module) ([]byte, error) {
	var list, texts bytes.Buffer
	for _, m := range modules {
		found, err := m.texts()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "  %s %s\n", m.path, m.version)
		for _, f := range found {
			fmt.Fprintf(&texts, "%s%s %s: %s\n\n%s\n", rule, m.path, m.version, f.name, bytes.TrimSpace(f.text))
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s is a program of the laboratory platform, under the licence below. It is linked from these modules, whose\n"+
		"licences and notices follow:\n\n%s%s\n%s\n%s", program, list.Bytes(), rule, bytes.TrimSpace(own), texts.Bytes())
	return out.Bytes(), nil
}

// text is one file of a module. Its name is relative to the module's root.
type text struct {
	name string
	text []byte
}

// texts returns the licences and notices in the module's root and in every folder between it and a linked package,
// because copied code has its own licence next to it. A module without a licence is an error.
func (m module) texts() ([]text, error) {
	var found []text
	licensed := false
	for _, folder := range m.upwards() {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			isLicence := licences.MatchString(e.Name())
			if e.IsDir() || code.MatchString(e.Name()) || !isLicence && !others.MatchString(e.Name()) {
				continue
			}
			content, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(m.folders[0], filepath.Join(folder, e.Name()))
			if err != nil {
				return nil, err
			}
			licensed = licensed || isLicence
			found = append(found, text{name, content})
		}
	}
	if !licensed {
		return nil, fmt.Errorf("%s %s has no licence file: it must not be distributed", m.path, m.version)
	}
	return found, nil
}

// upwards returns the root and all folders between it and the linked packages, sorted, without duplicates.
func (m module) upwards() []string {
	root := m.folders[0]
	all := []string{root}
	for _, folder := range m.folders[1:] {
		for ; strings.HasPrefix(folder, root+string(filepath.Separator)); folder = filepath.Dir(folder) {
			all = append(all, folder)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
