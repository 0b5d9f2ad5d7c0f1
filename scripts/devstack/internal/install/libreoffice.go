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

//go:embed fetch-libreoffice.sh
var fetchLibreOffice []byte

// LibreOffice returns the program soffice, which it unpacks into distributions once, from the packages of Debian and
// Ubuntu.
func LibreOffice(ctx context.Context, distributions string, progress io.Writer) (string, error) {
	root := filepath.Join(distributions, "libreoffice")
	soffice := filepath.Join(root, "soffice")
	if _, err := os.Stat(soffice); err == nil {
		return soffice, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("LibreOffice is fetched on Debian and Ubuntu only: install it and name its program in LAB_SOFFICE")
	}
	fmt.Fprintln(progress, "fetching LibreOffice (this happens once; about 260 MB unpacked)")
	if err := os.MkdirAll(distributions, 0o755); err != nil {
		return "", fmt.Errorf("fetch LibreOffice: %w", err)
	}
	cmd := exec.CommandContext(ctx, "bash", "-s", root)
	cmd.Stdin = bytes.NewReader(fetchLibreOffice)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch LibreOffice: %w\n%s", err, output)
	}
	return soffice, nil
}
