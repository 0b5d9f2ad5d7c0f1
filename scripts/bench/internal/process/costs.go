package process

import (
	"fmt"
	"maps"
)

// Costs collects the CPU time per request of several processes.
type Costs struct {
	// Runs holds the CPU microseconds per request by process name, one entry for each call of Of.
	Runs map[string][]float64

	pids map[string]int
}

// NewCosts returns the costs of the processes in pids, by name. A pid of 0 is an engine that was started elsewhere and
// is not measured.
func NewCosts(pids map[string]int) *Costs {
	ours := maps.Clone(pids)
	maps.DeleteFunc(ours, func(_ string, pid int) bool { return pid == 0 })
	return &Costs{Runs: map[string][]float64{}, pids: ours}
}

// Of runs work, which sends the given number of requests, and adds a run.
func (c *Costs) Of(requests int, work func() error) error {
	before, err := c.used()
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	after, err := c.used()
	if err != nil {
		return err
	}
	for name := range c.pids {
		c.Runs[name] = append(c.Runs[name], (after[name]-before[name])/float64(requests))
	}
	return nil
}

// used returns the CPU microseconds of each process since its start.
func (c *Costs) used() (map[string]float64, error) {
	used := map[string]float64{}
	for name, pid := range c.pids {
		d, err := CPU(pid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		used[name] = float64(d.Microseconds())
	}
	return used, nil
}
