package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// desktop is a running agent.
type desktop struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string

	mu     sync.Mutex
	output bytes.Buffer // guarded by mu
}

func (d *desktop) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.output.Write(p)
}

func (d *desktop) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.output.String()
}

// startAgent runs the agent for a report. path is its PATH, in which it looks for programs.
func startAgent(t *testing.T, binary, session, dir, path string, report int, more ...string) *desktop {
	t.Helper()
	d := &desktop{t: t, dir: dir}
	d.cmd = exec.Command(binary, "--base", stack.Endpoints.Gateway, "--report", fmt.Sprint(report), "--dir", dir,
		"--heartbeat", "1s", "--template", "1", "--stand-in-pdf")
	d.cmd.Args = append(d.cmd.Args, more...)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	d.cmd.Env = append(os.Environ(), "PATH="+path, "LAB_SESSION="+session, "XDG_CACHE_HOME="+t.TempDir())
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	await.Nil(t, "the agent's start", func() error {
		if strings.Contains(d.said(), "every save is uploaded") {
			return nil
		}
		return fmt.Errorf("%s", d.said())
	})
	return d
}

// edit saves the document with another text.
func (d *desktop) edit(text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, "report.docx")
	if err := os.WriteFile(path+".new", docx(d.t, text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desktop) wantRevisions(session string, report, want int) {
	d.t.Helper()
	await.Nil(d.t, fmt.Sprintf("%d revisions", want), func() error {
		var n int
		queryRow(d.t,
			"SELECT COUNT(*) FROM external_edit_revision r JOIN external_edit_session s ON s.id = r.session_id WHERE s.lab_report_id = ?", report).scan(&n)
		if n != want {
			return fmt.Errorf("%d; the agent said\n%s", n, d.said())
		}
		return nil
	})
}

func buildAgent(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", binary,
		"github.com/labplatform/labplatform/scripts/agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func TestExternalEditWithTheAgent(t *testing.T) {
	t.Parallel()
	binary, dir, asha, report := buildAgent(t), t.TempDir(), editor(t, 12, "report_edit"), editReport(t)
	first := startAgent(t, binary, asha, dir, "/nowhere", report)
	first.wantRevisions(asha, report, 0) // opening the template is not a save
	first.edit("one")
	first.wantRevisions(asha, report, 1)
	_ = first.cmd.Process.Kill()
	_ = first.cmd.Wait()
	first.edit("saved while the agent was dead")
	second := startAgent(t, binary, asha, dir, "/nowhere", report)
	if !strings.Contains(second.said(), "going on with session") {
		t.Errorf("got %s, want that it continues", second.said())
	}
	second.wantRevisions(asha, report, 2)
	if err := second.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("%v: got %s, want no error", err, second.said())
	}
	var reason string
	queryRow(t, "SELECT end_reason FROM external_edit_session WHERE lab_report_id = ?", report).scan(&reason)
	if reason != "author" {
		t.Errorf("ended by %q", reason)
	}
}

func TestExternalEditTheAgentIsToldOfATakeOver(t *testing.T) {
	t.Parallel()
	binary, dir, asha, report := buildAgent(t), t.TempDir(), editor(t, 12, "report_edit"), editReport(t)
	agent := startAgent(t, binary, asha, dir, "/nowhere", report)
	openSession(t, editor(t, 12, "report_edit", "report_edit_takeover"), report,
		strings.Replace(creation, "}", `,"take_over":true}`, 1))
	err := agent.cmd.Wait() // the next heartbeat is refused
	if exit := agent.cmd.ProcessState.ExitCode(); exit != 3 || !strings.Contains(agent.said(), "taken over by Editor") {
		t.Errorf("exit %d (%v): %s", exit, err, agent.said())
	}
	if _, err := os.Stat(filepath.Join(dir, "report.docx")); err != nil {
		t.Errorf("got no document, want it kept: %v", err)
	}
}
