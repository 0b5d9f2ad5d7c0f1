package stack

import (
	"fmt"
	"io"
	"slices"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// Status prints which processes of this LAB_DIR run, and reports whether the stack is ready.
func Status(s settings.Settings, out io.Writer) (ready bool) {
	e, err := endpoints.Read(s.Dir)
	supervised := Running(s)
	switch {
	case err == nil && supervised:
		fmt.Fprintf(out, "ready: %s (LAB_DIR %s)\n", e.Gateway, s.Dir)
	case supervised:
		fmt.Fprintf(out, "starting or stopping (LAB_DIR %s); see %s\n", s.Dir, s.Log(supervisor))
	default:
		fmt.Fprintf(out, "not running (LAB_DIR %s)\n", s.Dir)
	}
	pids := process.Directory(s.Run())
	alive := pids.Alive()
	names := make([]string, 0, len(alive)+len(e.PIDs))
	for name := range alive {
		names = append(names, name)
	}
	for name := range e.PIDs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if id, runs := alive[name]; runs {
			fmt.Fprintf(out, "  %-16s process %d\n", name, id.PID)
		} else {
			fmt.Fprintf(out, "  %-16s ended\n", name)
		}
	}
	return err == nil && supervised
}
