package install

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed fetch-packages.sh
var fetchPackages []byte

//go:embed finish-libreoffice.sh
var finishLibreOffice string

//go:embed finish-counterparts.sh
var finishCounterparts string

// LibreOffice returns the path of the program soffice. The first call unpacks it into distributions, from packages of
// Debian and Ubuntu.
func LibreOffice(ctx context.Context, distributions string, progress io.Writer) (string, error) {
	root := filepath.Join(distributions, "libreoffice")
	err := packages(ctx, root, progress, "LibreOffice (about 260 MB unpacked)", finishLibreOffice,
		"libreoffice-writer-nogui")
	return filepath.Join(root, "soffice"), err
}

// Counterparts returns the folder with the programs exim and nginx. The first call unpacks them into distributions.
func Counterparts(ctx context.Context, distributions string, progress io.Writer) (string, error) {
	root := filepath.Join(distributions, "counterparts")
	err := packages(ctx, root, progress, "a mail server and a proxy", finishCounterparts,
		"exim4-daemon-light", "nginx-light", "libnss-wrapper")
	return root, err
}

// packages unpacks Debian packages into root unless root exists. The commands in finish complete the folder.
func packages(ctx context.Context, root string, progress io.Writer, what, finish string, names ...string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("packages are fetched on Debian and Ubuntu only: install LibreOffice and name its program in LAB_SOFFICE;" +
			" there is no other way to the mail server")
	}
	fmt.Fprintf(progress, "fetching %s; this happens once\n", what)
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return fmt.Errorf("fetch packages: %w", err)
	}
	cmd := exec.CommandContext(ctx, "bash", append([]string{"-s", root, finish}, names...)...)
	cmd.Stdin = bytes.NewReader(fetchPackages)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch packages: %w\n%s", err, output)
	}
	return nil
}
