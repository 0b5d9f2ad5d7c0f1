package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// wordDocument returns a Word document with a paragraph. Its parts are not compressed, so that a test can search them.
func wordDocument(t *testing.T, text string) string {
	t.Helper()
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	const word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.` +
			`wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="rId1" Type="` + office + `/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="` + word + `"><w:body><w:p>` + text + `</w:p></w:body></w:document>`},
	} {
		to, err := w.CreateHeader(&zip.FileHeader{Name: part[0], Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(to, part[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func textRun(text string) string { return "<w:r><w:t>" + text + "</w:t></w:r>" }

func TestPathsAsURLs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/anna/.cache/lab-agent": "file:///home/anna/.cache/lab-agent",
		"/t/My Documents":             "file:///t/My%20Documents",
		"/t/Ärzte":                    "file:///t/%C3%84rzte",
		"/t/प्र":                      "file:///t/%E0%A4%AA%E0%A5%8D%E0%A4%B0",
		"/t/50% done":                 "file:///t/50%25%20done",
		"/t/100%25":                   "file:///t/100%2525",
		"/t/a#b/x?y&z":                "file:///t/a%23b/x%3Fy%26z",
		"/t/[1] $HOME ${x} \\ '":      "file:///t/%5B1%5D%20%24HOME%20%24%7Bx%7D%20%5C%20%27",
		`C:\Users\Dr. Anna Müller`:    "file:///C:/Users/Dr.%20Anna%20M%C3%BCller",
		`\\server\share\x y`:          "file://server/share/x%20y",
		`\\?\C:\long`:                 "file:///C:/long",
		`\\?\UNC\server\share`:        "file://server/share",
	} {
		if got := fileURL(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestWhereLibreOfficeIsInstalled(t *testing.T) {
	t.Parallel()
	environment := func(name string) string {
		return map[string]string{"ProgramFiles": `C:\Program Files`, "HOME": "/Users/anna"}[name]
	}
	for system, want := range map[string]string{
		"windows": `C:\Program Files\LibreOffice\program\soffice.com`,
		"darwin":  "/Applications/LibreOffice.app/Contents/MacOS/soffice",
		"linux":   "/usr/lib/libreoffice/program/soffice",
	} {
		if found := strings.Join(installedAt(system, environment), "\n"); !strings.Contains(found, want) {
			t.Errorf("%s: %s is not among\n%s", system, want, found)
		}
		if advice[system] == "" {
			t.Errorf("%s: there is no advice how to install it", system)
		}
	}
}

// The fake converter is this program under a name with this prefix. Like the real one it hangs when the URL of its
// profile is invalid; the real one then waits for a click in an invisible window.
const fakePrefix = "fake-soffice-"

// fakeConverter behaves like soffice in the given mode and exits.
func fakeConverter(mode string) {
	var profile, out, word string
	for i, argument := range os.Args {
		switch {
		case strings.HasPrefix(argument, "-env:UserInstallation="):
			profile = strings.TrimPrefix(argument, "-env:UserInstallation=")
		case argument == "--outdir":
			out = os.Args[i+1]
		case strings.HasSuffix(argument, ".docx"):
			word = argument
		}
	}
	parsed, err := url.Parse(profile)
	if err != nil || parsed.Scheme != "file" || parsed.Host != "" || strings.ContainsAny(profile, " #?$[]") ||
		strings.ContainsFunc(profile, func(r rune) bool { return r > '~' }) {
		mode = "hang"
	} else if _, err := os.Stat(filepath.Join(parsed.Path, "user", "registrymodifications.xcu")); err != nil {
		mode = "hang"
	}
	pdf := filepath.Join(out, strings.TrimSuffix(word, ".docx")+".pdf")
	switch mode {
	case "hang": // like oosplash: a child hangs and keeps the output open
		bear()
		time.Sleep(time.Hour)
	case "fork": // exits at once and leaves a child behind
		bear()
	case "nothing":
		fmt.Fprintln(os.Stderr, "Error: source file could not be loaded")
	case "cut":
		_ = os.WriteFile(pdf, []byte("%PDF-1.6\n1 0 obj <</Type /Catalog"), 0o600)
	case "fails":
		fmt.Fprintln(os.Stderr, "cannot open display")
		os.Exit(77)
	case "ok":
		_ = os.WriteFile(pdf, []byte("%PDF-1.6\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"), 0o600)
	}
	os.Exit(0)
}

// bear starts a child that keeps the output open, and writes its pid into a file.
func bear() {
	child := exec.Command("sleep", "400")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	err := child.Start()
	if err == nil {
		err = os.WriteFile(os.Args[0]+".new", []byte(fmt.Sprint(child.Process.Pid)), 0o600)
	}
	if err != nil || os.Rename(os.Args[0]+".new", os.Args[0]+".child") != nil {
		os.Exit(1)
	}
}

// fake returns a converter that starts this program, and the path of the file with the pid of its child.
func fake(t *testing.T, mode string, limit time.Duration) (l libreOffice, child string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	soffice := filepath.Join(t.TempDir(), fakePrefix+mode)
	if err := os.Symlink(program, soffice); err != nil {
		t.Fatal(err)
	}
	return libreOffice{soffice, limit, newFamily}, soffice + ".child"
}

// folderNames are names that users give to folders.
var folderNames = []string{
	"plain", "My Documents", "Ärzte Befund/Müller Größe", "प्रतिवेदन रिपोर्ट", "50% done", "100%25", "a#b", "x?y&z", "[1] *", "報告 №7 $HOME",
}

// Tests that start programs run before the parallel ones, because between fork and exec a new process holds the locks
// of all other tests.
func TestEveryFolderNameConverts(t *testing.T) {
	for _, name := range folderNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := fake(t, "ok", time.Minute)
			if err := convertIn(t.Context(), t, l, name); err != nil {
				t.Error(err)
			}
		})
	}
}

// convertIn converts a document in a slot below a folder with this name.
func convertIn(ctx context.Context, t *testing.T, l libreOffice, name string) error {
	t.Helper()
	s, err := slots{filepath.Join(t.TempDir(), name)}.take()
	if err != nil {
		return err
	}
	defer s.release()
	if err := os.WriteFile(s.word(), []byte(wordDocument(t, textRun("Befund"))), 0o600); err != nil {
		return err
	}
	return l.convert(ctx, s, s.word())
}

func TestAConverterThatFails(t *testing.T) {
	for mode, want := range map[string]string{
		"hang":    "did not finish within 100ms and was ended",
		"fork":    "made no PDF",
		"nothing": "made no PDF of the document; it said: Error: source file could not be loaded",
		"cut":     "wrote a PDF that cannot be used: the PDF is incomplete",
		"fails":   "exit status 77: cannot open display",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if mode == "hang" {
				limit = 100 * time.Millisecond
			}
			l, child := fake(t, mode, limit)
			err := convertIn(t.Context(), t, l, "My Documents")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if _, again := patience(err, time.Second); !again {
				t.Error("it would not be tried again")
			}
			if mode == "fork" {
				wantDead(t, child)
			}
		})
	}
}

// A cancelled conversion must end the converter and its child process, which keeps the output open.
func TestAHangingConverterIsEndedWithItsChildren(t *testing.T) {
	l, child := fake(t, "hang", time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- convertIn(ctx, t, l, "My Documents") }()
	await.Nil(t, "the grandchild", func() error {
		_, err := os.Stat(child)
		return err
	})
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	wantDead(t, child)
}

// wantDead waits until the process whose pid is in a file has ended. A zombie counts as ended.
func wantDead(t *testing.T, file string) {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("there was no grandchild: %v", err)
	}
	await.Nil(t, "the end of the grandchild", func() error {
		status, err := os.ReadFile(filepath.Join("/proc", string(pid), "stat"))
		if err == nil && !bytes.Contains(status, []byte(") Z ")) {
			return fmt.Errorf("%s", status)
		}
		return nil
	})
}

// calls records the calls for a group of processes.
type calls struct {
	list    []string
	failing error
}

func (c *calls) prepare(*exec.Cmd, *os.File) { c.list = append(c.list, "prepare") }

func (c *calls) started(*os.Process) error {
	c.list = append(c.list, "started")
	return c.failing
}

func (c *calls) end() error {
	c.list = append(c.list, "end")
	return nil
}

// The order is the same on every system. A started program is ended even if it could not be grouped.
func TestAFamilyOfProgramsIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		failing error
		want    string
		fails   bool
	}{
		"it ends":                {"true", nil, "prepare started end", false},
		"it fails":               {"false", nil, "prepare started end", true},
		"it cannot be grouped":   {"sleep", errors.New("no job object"), "prepare started", true},
		"there is no such thing": {"/nowhere/soffice", nil, "prepare", true},
	} {
		got := &calls{failing: c.failing}
		err := runFamily(t.Context(), exec.CommandContext(context.Background(), c.program, "100"), got, nil)
		if strings.Join(got.list, " ") != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v; want %s", name, got.list, err, c.want)
		}
	}
}

// The test checks that a slot is not reused while programs of a dead agent are still running in it.
func TestASlotThatIsInUseIsLeftAlone(t *testing.T) {
	root := slots{t.TempDir()}
	first, err := root.take()
	if err != nil {
		t.Fatal(err)
	}
	orphan := exec.CommandContext(t.Context(), "sleep", "400")
	newFamily().prepare(orphan, first.lock)
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first.word(), []byte("a patient's"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = first.lock.Close() // as when the agent dies
	root.sweep()
	second, err := root.take()
	if err != nil || second.dir == first.dir {
		t.Fatalf("%s, %v", second.dir, err)
	}
	second.release()
	_ = orphan.Process.Kill()
	_ = orphan.Wait()
	root.sweep()
	if _, err := os.Stat(first.word()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the document was left behind: %v", err)
	}
}

// The program's path must be absolute: a conversion runs in the folder of its slot, where a relative name would mean
// another program.
func TestANamedLibreOfficeIsFoundFromEveryFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("soffice", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := findLibreOffice("./soffice"); err != nil || got != filepath.Join(dir, "soffice") {
		t.Errorf("%s, %v, want %s", got, err, filepath.Join(dir, "soffice"))
	}
}
