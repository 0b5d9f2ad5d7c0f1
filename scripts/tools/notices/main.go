// Command notices writes the licence texts of everything that the platform's programs are linked from, as the licences
// require. For each main package in the arguments it writes kodata/NOTICES.txt, which the builder puts into the image.
// It runs in the root of the repository and needs only the module cache. A module without a licence is an error.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(programs []string) error {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for _, program := range programs {
		modules, err := linked(program)
		if err != nil {
			return err
		}
		name := filepath.Base(program)
		text, err := notices(name, own, modules)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := write(filepath.Join(program, "kodata", "NOTICES.txt"), text); err != nil {
			return err
		}
		fmt.Printf("%s: notices of %d modules, %d KiB\n", name, len(modules), len(text)>>10)
	}
	return nil
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
