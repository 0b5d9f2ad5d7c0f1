package netguard

import (
	"fmt"
	"net"
	"net/netip"
)

// special are the blocks of the IANA special-purpose registries that are not public destinations, and the
// IPv6 blocks that carry an IPv4 address inside. Go's own predicates call several of them global unicast.
func special() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23",         // protocol assignments: Teredo, benchmarking, ORCHID
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3fff::/20",         // documentation
	)
}

// globalIPv6 is the only block of IPv6 with public destinations: outside are unspecified, loopback, compatible
// and mapped addresses, NAT64 (64:ff9b::), discard (100::), segment routing (5f00::), unique local, link local,
// site local and multicast.
func globalIPv6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, text := range list {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// table decides about addresses.
type table struct {
	special []netip.Prefix
	global  netip.Prefix
	own     map[netip.Addr]bool
}

func newTable(own []netip.Addr) *table {
	t := &table{special: special(), global: globalIPv6(), own: make(map[netip.Addr]bool, len(own))}
	for _, a := range own {
		t.own[a.Unmap().WithZone("")] = true
	}
	return t
}

// check returns nil for a public address. IPv4-mapped IPv6 is judged as its IPv4.
func (t *table) check(addr netip.Addr) error {
	if addr.Zone() != "" {
		return refuse("an address with a zone is not public")
	}
	addr = addr.Unmap()
	if !addr.IsValid() || (addr.Is6() && !t.global.Contains(addr)) {
		return refuse("the host's address is not public")
	}
	for _, p := range t.special {
		if p.Contains(addr) {
			return refuse("the host's address is not public")
		}
	}
	if t.own[addr] {
		return refuse("the host's address is this machine's")
	}
	return nil
}

// OwnAddresses lists the addresses of this machine's interfaces: public ones must not be reached from inside.
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
