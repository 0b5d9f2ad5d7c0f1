package route

import (
	"cmp"
	"slices"
)

// Health is how a provider does in this process.
type Health struct {
	Channel  string `json:"channel"`
	Provider string `json:"provider"`
	Paused   bool   `json:"paused"`
	Failures uint32 `json:"failures"` // in a row
}

// Health lists the providers by channel and name.
func (s *Set) Health() []Health {
	list := []Health{}
	t := s.current.Load()
	if t == nil {
		return list
	}
	for c, accounts := range t.providers {
		for name, p := range accounts {
			list = append(list, Health{Channel: c.String(), Provider: name, Paused: p.circuit.IsOpen(),
				Failures: p.circuit.Failures()})
		}
	}
	slices.SortFunc(list, func(a, b Health) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Provider, b.Provider))
	})
	return list
}
