package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// replicas are the programs behind one name, like a headless Service of Kubernetes. The name resolves to the replicas
// that are ready and have not been terminated.
type replicas struct {
	mu       sync.Mutex
	programs []*program // the oldest first; guarded by mu
	started  int        // guarded by mu
}

// address returns an address that no other replica has had.
func (r *replicas) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started++
	return fmt.Sprintf("127.0.0.%d", 10+r.started)
}

func (r *replicas) add(programs ...*program) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.programs = append(r.programs, programs...)
}

// remove removes the oldest replica from the name and returns it.
func (r *replicas) remove() *program {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.programs[0]
	r.programs = slices.Clone(r.programs[1:])
	return oldest
}

// allReady returns an error for the first replica that is not ready, with the end of its log.
func (r *replicas) allReady() error {
	r.mu.Lock()
	programs := r.programs
	r.mu.Unlock()
	for _, p := range programs {
		if err := p.unready(); err != nil {
			return err
		}
	}
	return nil
}

func (r *replicas) ready() (addresses []netip.Addr) {
	r.mu.Lock()
	programs := r.programs
	r.mu.Unlock()
	for _, p := range programs {
		if p.ready() {
			addresses = append(addresses, netip.MustParseAddr(p.env[p.prefix+"_HOST"]))
		}
	}
	return addresses
}

// startNames starts a name server for the deployments and returns its address.
func startNames(t *testing.T, all []*deployment) (address string) {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			question := slices.Clone(packet[:n])
			go func() {
				if answer, err := answerTo(question, all); err == nil {
					_, _ = conn.WriteTo(answer, from) // clients repeat a lost query
				}
			}()
		}
	}()
	return conn.LocalAddr().String()
}

func answerTo(packet []byte, all []*deployment) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(packet); err != nil {
		return nil, err
	}
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	question := message.Questions[0]
	name := strings.TrimSuffix(question.Name.String(), ".")
	i := slices.IndexFunc(all, func(d *deployment) bool { return d.name() == name })
	if i < 0 {
		message.RCode = dnsmessage.RCodeNameError
		return message.Pack()
	}
	if question.Type == dnsmessage.TypeA {
		for _, a := range all[i].replicas.ready() {
			message.Answers = append(message.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: a.As4()},
			})
		}
	}
	return message.Pack()
}
