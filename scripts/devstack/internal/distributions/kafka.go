package distributions

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

//go:embed kafka
var kafkaFiles embed.FS

// Kafka returns the distribution of the broker, Kafka Connect and the Debezium connectors of MariaDB and MySQL. Its
// folder has jars/, the class path of the first two, and plugins/, the plugin.path of Connect.
func Kafka() Distribution {
	return Distribution{Name: "kafka", Version: "4.3.1", files: subtree(kafkaFiles, "kafka"), build: buildKafka}
}

func buildKafka(ctx context.Context, tools Tools, files fs.FS, dir string, progress io.Writer) error {
	pom, jars, plugins := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "jars"), filepath.Join(dir, "plugins")
	if err := copyFile(files, "pom.xml", pom); err != nil {
		return err
	}
	if err := fetch(ctx, tools, "Kafka 4.3.1, Kafka Connect and Debezium 3.5.0", pom, jars, progress); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(jars, "debezium-connector-*-plugin.tar.gz"))
	if err == nil && len(archives) != 2 {
		err = fmt.Errorf("found %d archives of connectors in %s, want 2", len(archives), jars)
	}
	if err != nil {
		return err
	}
	problems := []error{os.MkdirAll(plugins, 0o755)}
	for _, archive := range archives {
		problems = append(problems, run(ctx, "tar", "xzf", archive, "-C", plugins), os.Remove(archive))
	}
	return errors.Join(problems...)
}

// subtree returns a folder of an embedded file system. The callers pass constant names, so it exists.
func subtree(files embed.FS, name string) fs.FS {
	tree, err := fs.Sub(files, name)
	if err != nil {
		return files
	}
	return tree
}

func copyFile(from fs.FS, name, to string) error {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

func run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	process.DieWithParent(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, output)
	}
	return nil
}
