package stack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// supervisorGrace is longer than the total time that the devstack process itself may wait.
const supervisorGrace = serviceGrace + engineGrace + 10*time.Second

// Stop ends the stack of this LAB_DIR: first the devstack that runs it, then all remaining processes, such as those of
// a killed devstack. It returns nil when the stack does not run.
func Stop(s settings.Settings, out io.Writer) error {
	pids := process.Directory(s.Run())
	id, known := pids.Find(supervisor)
	switch {
	case known && id.Alive() && id.PID != os.Getpid():
		fmt.Fprintln(out, "stopping")
		process.StopStranger(id, supervisorGrace)
		fmt.Fprintln(out, "stopped")
	case len(pids.Alive()) == 0:
		fmt.Fprintln(out, "the stack does not run")
	}
	removeLeftovers(pids, out)
	pids.Remove(supervisor)
	return endpoints.Remove(s.Dir)
}

// Reset stops the stack and deletes LAB_DIR. If LAB_DIR contained other files before the stack, it and those files
// stay.
func Reset(s settings.Settings, out io.Writer) error {
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(out, "%s is absent: nothing to reset\n", s.Dir)
		return nil
	}
	if _, err := os.Stat(s.Run()); err != nil {
		return fmt.Errorf("%s was not made by devstack: delete it yourself if you mean it", s.Dir)
	}
	if err := Stop(s, out); err != nil {
		return err
	}
	if err := deleteDirectory(s, out); err != nil {
		return fmt.Errorf("delete LAB_DIR: %w", err)
	}
	return nil
}

func deleteDirectory(s settings.Settings, out io.Writer) error {
	if _, err := os.Stat(filepath.Join(s.Dir, marker)); err == nil {
		fmt.Fprintf(out, "deleting %s\n", s.Dir)
		return os.RemoveAll(s.Dir)
	}
	for _, name := range ours() {
		if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
			return err
		}
	}
	if others, err := foreignEntries(s); err != nil || len(others) > 0 {
		fmt.Fprintf(out, "deleted the data of the stack in %s; these files are not its own and stay: %v\n", s.Dir, others)
		return err
	}
	return os.Remove(s.Dir)
}
