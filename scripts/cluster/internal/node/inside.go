package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// RunInside is the first process of the namespaces: it starts the parts in order and returns when one of them ends.
func (n Node) RunInside() error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // waits until the network is set up
		return err
	}
	if err := n.mount(); err != nil {
		return err
	}
	running := map[int]string{}
	for _, p := range n.parts() {
		if p.after != nil {
			if err := p.after(); err != nil {
				return fmt.Errorf("before %s: %w", p.name, err)
			}
		}
		process, err := n.startPart(p)
		if err != nil {
			return fmt.Errorf("start %s: %w", p.name, err)
		}
		running[process.Pid] = p.name
	}
	return bury(running)
}

func (n Node) startPart(p part) (*os.Process, error) {
	log, err := os.Create(n.Log(p.name))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return os.StartProcess(p.command[0], p.command, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, log, log}})
}

// bury reaps every process of the namespaces, as the first process of a PID namespace must, until one of the parts
// ends.
func bury(parts map[int]string) error {
	for {
		id, err := unix.Wait4(-1, nil, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if name, isPart := parts[id]; isPart {
			return fmt.Errorf("%s has ended", name)
		}
	}
}

// apiServes waits until the API server responds: the controllers exit soon without it.
func (n Node) apiServes() error {
	ca, err := os.ReadFile(n.pki("ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	return waitFor(func() error {
		response, err := client.Get("https://127.0.0.1:6443/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
}

func containerdServes() error {
	return waitFor(func() error { _, err := os.Stat("/run/containerd/containerd.sock"); return err })
}

func waitFor(succeeds func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		err := succeeds()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
