package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is a process with the settings of the stack's own, but for its ports. One that ends unasked is started again, as a
// kubelet does, and the test's output states it.
type program struct {
	prefix  string
	env     map[string]string // what differs from the stack's own
	environ []string          // all
	argv    []string
	log     string        // the path of its log
	ended   chan struct{} // closed when it ended for good

	mu    sync.Mutex
	cmd   *exec.Cmd // guarded by mu
	asked bool      // to end; guarded by mu
	err   error     // of the end; guarded by mu
}

func startProgram(t *testing.T, name, prefix string, change map[string]string) *program {
	t.Helper()
	p := &program{prefix: prefix, env: change, argv: stack.Endpoints.Commands[name], ended: make(chan struct{}),
		log: filepath.Join(stack.Dir, "logs", name+"-"+freePort(t)+".log")}
	for key, value := range stack.Endpoints.Environ[name] {
		if _, changed := change[key]; !changed {
			p.environ = append(p.environ, key+"="+value)
		}
	}
	for key, value := range change {
		p.environ = append(p.environ, key+"="+value)
	}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	go p.keep(t)
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL) // most have ended
		<-p.ended
	})
	return p
}

func (p *program) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.environ, log, log
	p.cmd = cmd
	return cmd.Start()
}

// restarts is how often a program is started again.
const restarts = 5

// keep starts the program again until it is asked to end.
func (p *program) keep(t *testing.T) {
	defer close(p.ended)
	for started := 0; ; started++ {
		err := p.cmd.Wait()
		p.mu.Lock()
		if p.err = err; p.asked || started == restarts {
			p.mu.Unlock()
			return
		}
		t.Logf("%s ended unasked with %v and is started again; its log ends with\n%s", p.argv[0], err, p.lastWords())
		if err := p.start(); err != nil {
			p.err = err
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

func (p *program) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	_ = p.cmd.Process.Signal(s) // it may have ended
}

// terminate asks the program to end, as a kubelet does.
func (p *program) terminate() { p.signal(syscall.SIGTERM) }

// wait returns when the program has ended, with what went wrong.
func (p *program) wait() error {
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// lastWords returns the end of the program's log.
func (p *program) lastWords() []byte {
	const most = 2000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}

// probes are no requests of the API.
var probes = &http.Client{Timeout: time.Second}

// unready asks as a kubelet does.
func (p *program) unready() error {
	at := net.JoinHostPort(cmp.Or(p.env[p.prefix+"_HOST"], "127.0.0.1"), p.env[p.prefix+"_ADMIN_PORT"])
	response, err := probes.Get("http://" + at + "/health/ready")
	if err != nil {
		return fmt.Errorf("%w; the log ends with\n%s", err, p.lastWords())
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s at %s: %s; the log ends with\n%s", p.argv[0], at, text, p.lastWords())
	}
	return nil
}

func (p *program) ready() bool { return p.unready() == nil }
