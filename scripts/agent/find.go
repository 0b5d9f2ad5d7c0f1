package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

var errNoConverter = errors.New("LibreOffice is not installed, so there is nothing to make the PDF with: " +
	advice[runtime.GOOS] + "; or name it with --soffice")

var advice = map[string]string{
	"windows": "install it from https://www.libreoffice.org/download",
	"darwin":  "install it from https://www.libreoffice.org/download and put it into Applications",
	"linux": "install it with the system's packages (Debian, Ubuntu: apt-get install libreoffice-writer-nogui;" +
		" Fedora: dnf install libreoffice-writer)",
}

// findLibreOffice returns the path of the program named by the user, or of an installed one.
func findLibreOffice(named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path) // absolute, because it is started in the folder of a slot
	}
	for _, name := range installedAt(runtime.GOOS, os.Getenv) {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errNoConverter
}

// installedAt lists the places where systems install LibreOffice. On Windows soffice.com waits for the conversion;
// soffice.exe returns early when it is started from a console.
func installedAt(system string, environment func(string) string) []string {
	switch system {
	case "windows":
		found := []string{"soffice.com"}
		for _, folder := range []string{"ProgramFiles", "ProgramW6432", "ProgramFiles(x86)", "LOCALAPPDATA"} {
			if root := environment(folder); root != "" {
				found = append(found, root+`\LibreOffice\program\soffice.com`, root+`\Programs\LibreOffice\program\soffice.com`)
			}
		}
		return append(found, "soffice.exe")
	case "darwin":
		const app = "/Applications/LibreOffice.app/Contents/MacOS/soffice"
		return []string{"soffice", app, environment("HOME") + app}
	}
	versions, _ := filepath.Glob("/opt/libreoffice*/program/soffice") // fails only for a malformed pattern
	return append([]string{
		"soffice", "libreoffice", "/usr/lib/libreoffice/program/soffice", "/usr/lib64/libreoffice/program/soffice",
	}, versions...)
}
