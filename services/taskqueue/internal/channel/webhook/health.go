package webhook

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Paused is a receiver that one laboratory's requests leave alone for a while. Paths are not told: they may name
// people.
type Paused struct {
	LabID  int64  `json:"lab_id"`
	Origin string `json:"origin"`
	Kinds  int    `json:"kinds"` // of requests that are paused
}

// mostPaused bounds the list: beyond that many, which ones matters no more.
const mostPaused = 50

// PausedReceivers lists receivers with paused requests, by laboratory and origin.
func (s *Sender) PausedReceivers() []Paused {
	s.hosts.mu.Lock()
	defer s.hosts.mu.Unlock()
	list := []Paused{}
	for key, one := range s.hosts.known {
		lab, origin, _ := strings.Cut(key, " ")
		p := Paused{Origin: origin}
		p.LabID, _ = strconv.ParseInt(lab, 10, 64)
		for _, c := range one.circuits {
			if c.IsOpen() {
				p.Kinds++
			}
		}
		if p.Kinds > 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Paused) int {
		return cmp.Or(cmp.Compare(a.LabID, b.LabID), cmp.Compare(a.Origin, b.Origin))
	})
	return list[:min(mostPaused, len(list))]
}
