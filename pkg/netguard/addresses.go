package netguard

import (
	"fmt"
	"net"
	"net/netip"

	"code.dny.dev/ssrf"
)

// table decides which addresses may be reached.
type table struct {
	public *ssrf.Guardian // contains IANA's special-purpose address registries
	own    map[netip.Addr]bool
}

func newTable(own []netip.Addr) *table {
	t := &table{public: ssrf.New(), own: make(map[netip.Addr]bool, len(own))}
	for _, a := range own {
		t.own[a.Unmap().WithZone("")] = true
	}
	return t
}

// check returns nil for a public address that is not this machine's, otherwise a Refusal. An IPv4-mapped IPv6 address
// is checked as IPv4.
func (t *table) check(addr netip.Addr) error {
	if addr.Zone() != "" {
		return refuse("an address with a zone is not public")
	}
	addr = addr.Unmap()
	if !addr.IsValid() || t.public.SafeAddr(addr) != nil {
		return refuse("the host's address is not public")
	}
	if t.own[addr] {
		return refuse("the host's address is this machine's")
	}
	return nil
}

// OwnAddresses returns the addresses of this machine's interfaces. Public ones must not be reachable through a Client
// either.
func OwnAddresses() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list interface addresses: %w", err)
	}
	var own []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr())
		}
	}
	return own, nil
}
