package netguard_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// nameserver responds to each query with the next address of its list; the last one is repeated.
type nameserver struct {
	net.PacketConn

	mu   sync.Mutex // guards list and used
	list []netip.Addr
	used map[netip.Addr]bool
}

func startNameserver(t *testing.T, addresses ...string) *nameserver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameserver{PacketConn: conn, used: map[netip.Addr]bool{}}
	for _, a := range addresses {
		s.list = append(s.list, netip.MustParseAddr(a))
	}
	t.Cleanup(func() { _ = conn.Close() })
	go s.serve()
	return s
}

func (s *nameserver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.LocalAddr().String())
	}}
}

func (s *nameserver) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = s.WriteTo(s.answer(buffer[:n]), from)
	}
}

// answer returns the response to a query. It contains the address if the query is of its type (A or AAAA).
func (s *nameserver) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	kind := binary.BigEndian.Uint16(query[end-4:])
	out := append([]byte{}, query[:end]...)
	out[2], out[3] = 0x84, 0                        // an authoritative response
	copy(out[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0}) // one question, no answer yet
	addr := s.next(kind)
	if !addr.IsValid() {
		return out
	}
	out[7] = 1
	raw := addr.AsSlice()
	out = append(out, 0xc0, 12)
	out = binary.BigEndian.AppendUint16(out, kind)
	out = append(out, 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
	return append(out, raw...)
}

func (s *nameserver) next(kind uint16) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	addr := s.list[0]
	if addr.Is4() != (kind == 1) {
		return netip.Addr{}
	}
	if len(s.list) > 1 {
		s.list = s.list[1:]
	}
	s.used[addr] = true
	return addr
}

// A name may resolve to any address, and to another one the next time. The address that is dialled must be checked.
func TestNamesThatResolveToNonPublicAddressesAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0", "192.0.2.1", "198.18.0.1", "::1", "::ffff:127.0.0.1",
		"::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fd00:ec2::254", "fe80::1", "fec0::1", "100::1", "3fff::1"} {
		names := startNameserver(t, address)
		client := netguard.New(netguard.Config{AllowHTTP: true, Resolver: names.resolver(), AllowedHosts: []string{address}})
		if _, err := client.CheckURL("http://rebound.example.com/"); err != nil {
			t.Fatalf("CheckURL of the name: %v, want it accepted", err)
		}
		if _, err := do(t, client, "http://rebound.example.com/"); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("name with address %s: error = %v, want ErrRefused", address, err)
		}
		names.mu.Lock()
		used := len(names.used)
		names.mu.Unlock()
		if used == 0 {
			t.Errorf("address %s was never resolved, want a query", address)
		}
	}
}
