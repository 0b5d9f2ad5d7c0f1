// Command dashboards writes the Grafana dashboards of the platform: dashboards FOLDER.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	for _, b := range boards() {
		text, err := b.render()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, b.name+".json"), text, 0o644); err != nil { // committed
			return fmt.Errorf("write dashboard: %w", err)
		}
	}
	return nil
}
