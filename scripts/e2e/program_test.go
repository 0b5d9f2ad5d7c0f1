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

// program is a process with the stack's settings and other ports. When it ends unexpectedly, it is started again, as by
// a kubelet, and the test's output reports that.
type program struct {
	prefix  string
	env     map[string]string // variables that differ from the stack's
	environ []string          // all variables
	argv    []string
	log     string        // path of its log
	ended   chan struct{} // closed when it has ended and is not restarted

	mu    sync.Mutex
	cmd   *exec.Cmd // guarded by mu
	asked bool      // termination was requested; guarded by mu
	err   error     // error of the last end; guarded by mu
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
		p.signal(syscall.SIGKILL) // usually it has ended already
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

// restarts is the maximum number of restarts.
const restarts = 5

// keep restarts the program until its termination is requested.
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
	_ = p.cmd.Process.Signal(s) // fails if it has already ended
}

// terminate sends SIGTERM, as a kubelet does.
func (p *program) terminate() { p.signal(syscall.SIGTERM) }

// wait waits until the program has ended and returns the error of its end.
func (p *program) wait() error {
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// lastWords returns the last bytes of the program's log.
func (p *program) lastWords() []byte {
	const most = 2000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}

// probes is the client for readiness probes, which are not compared with the API document.
var probes = &http.Client{Timeout: time.Second}

// unready returns an error unless the program's readiness probe succeeds.
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
