package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// module is a Go module that a program is linked from.
type module struct {
	path, version string
	folders       []string // the module's root, then the folders of the linked packages
}

// listed holds the used fields of the output of go list.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linked returns the modules of a program on all platforms of the images, sorted by path. Go's standard library counts
// as one.
func linked(program string) ([]module, error) {
	all := map[string]*module{}
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := list(program, architecture, all); err != nil {
			return nil, err
		}
	}
	out := make([]module, 0, len(all))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[path])
	}
	return out, nil
}

func list(program, architecture string, all map[string]*module) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", "./"+strings.TrimPrefix(program, "./"))
	outside := func(v string) bool { return strings.HasPrefix(v, "GOWORK=") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), outside), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list what %s is linked from: %w\n%s", program, err, said.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := add(p, all); err != nil {
			return err
		}
	}
}

// goEnv returns the version and the root of the toolchain.
var goEnv = sync.OnceValues(func() ([]string, error) {
	out, err := exec.Command("go", "env", "GOVERSION", "GOROOT").Output()
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
})

func add(p listed, all map[string]*module) error {
	path, version, root := "", "", ""
	switch {
	case p.Standard:
		toolchain, err := goEnv()
		if err != nil {
			return err
		}
		path, version, root = "Go standard library", toolchain[0], toolchain[1]
	case p.Module == nil || p.Module.Main:
		return nil
	default:
		path, version, root = p.Module.Path, p.Module.Version, p.Module.Dir
	}
	if all[path] == nil {
		all[path] = &module{path: path, version: version, folders: []string{root}}
	}
	if m := all[path]; !slices.Contains(m.folders, p.Dir) {
		m.folders = append(m.folders, p.Dir)
	}
	return nil
}
