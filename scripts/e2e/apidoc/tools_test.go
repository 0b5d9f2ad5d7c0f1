package apidoc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// toolFolder contains the versions of the packages from npm and PyPI, and the installed packages.
const toolFolder = "../../tools/apidoc"

// lacking skips a test because a program is missing, or fails it if every test must run.
func lacking(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// needs skips or fails a test if this machine lacks a program.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		lacking(t, program+" is missing")
	}
}

// installed runs an installation once, and again when the list of versions is newer than its result.
type installed struct {
	once sync.Once
	err  error
	text []byte
}

func (i *installed) run(t *testing.T, list, result string, commands ...[]string) {
	t.Helper()
	for _, argv := range commands {
		if _, err := exec.LookPath(argv[0]); err != nil && !strings.Contains(argv[0], "/") {
			lacking(t, argv[0]+" is missing; the checks of the API document need node with npm, and python3 with venv")
		}
	}
	i.once.Do(func() {
		want, err := os.Stat(filepath.Join(toolFolder, list))
		if err != nil {
			i.err = err
			return
		}
		if got, err := os.Stat(filepath.Join(toolFolder, result)); err == nil && !got.ModTime().Before(want.ModTime()) {
			return
		}
		for _, argv := range commands {
			cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
			cmd.Dir = toolFolder
			if i.text, i.err = cmd.CombinedOutput(); i.err != nil {
				return
			}
		}
		i.err = os.WriteFile(filepath.Join(toolFolder, result), nil, 0o644)
	})
	if i.err != nil {
		lacking(t, "install the tools of the API document: "+i.err.Error()+"\n"+string(i.text))
	}
}

var fromNPM, fromPyPI, clientsFromPyPI installed

// npmTool returns the path of a program from npm.
func npmTool(t *testing.T, name string) string {
	t.Helper()
	fromNPM.run(t, "package-lock.json", "node_modules/.installed", []string{"npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"})
	return absolute(t, filepath.Join(toolFolder, "node_modules/.bin", name))
}

// pythonTool returns the path of a program from PyPI.
func pythonTool(t *testing.T, name string) string {
	t.Helper()
	return fromPyPI.virtual(t, "venv", "requirements.txt", name)
}

// pythonClientTool returns the path of a program for generated clients, which need other libraries than the tools.
func pythonClientTool(t *testing.T, name string) string {
	t.Helper()
	return clientsFromPyPI.virtual(t, ".venv-clients", "clients.txt", name)
}

func (i *installed) virtual(t *testing.T, folder, list, name string) string {
	t.Helper()
	i.run(t, list, folder+"/.installed", []string{"python3", "-m", "venv", folder},
		[]string{folder + "/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", list})
	return absolute(t, filepath.Join(toolFolder, folder, "bin", name))
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// command runs a program in a folder and returns its output. A failure of the program fails the test.
func command(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: got %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// copied returns a new folder with files of testdata, because programs write files next to their input.
func copied(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
