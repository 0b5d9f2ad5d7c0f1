package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// unread are parts of the paths that are not checked: files that quote phrases as examples, and generated or recorded
// files.
var unread = []string{"docs/language.md", ".golangci.yml", "scripts/tools/phrases/", "proto/gen/", "/testdata/",
	"-rendered.yaml"}

func findAll() ([]finding, error) {
	rules, err := allRules()
	if err != nil {
		return nil, err
	}
	paths, err := readable()
	if err != nil {
		return nil, err
	}
	found := make([][]finding, len(paths))
	eachInParallel(len(paths), func(i int) { found[i] = findInFile(rules, paths[i]) })
	return slices.Concat(found...), nil
}

func readable() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate").Output()
	if err != nil {
		return nil, fmt.Errorf("list files of the repository: %w", err)
	}
	paths := strings.Split(strings.TrimSpace(string(out)), "\n")
	paths = slices.DeleteFunc(paths, func(p string) bool { return reader(p) == nil || isUnread(p) })
	slices.Sort(paths)
	return paths, nil
}

func isUnread(file string) bool {
	return slices.ContainsFunc(unread, func(part string) bool { return strings.Contains("/"+file, part) })
}

// findInFile returns nil for a file that cannot be read, because deleted files are listed until the deletion is
// committed.
func findInFile(rules []rule, file string) []finding {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	found := findIn(rules, file, reader(file)(source))
	return append(found, tooLong(file, string(source))...)
}

func eachInParallel(n int, do func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}
