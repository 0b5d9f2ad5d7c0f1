package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The parts write to these fixed paths. Inside the node each one is an empty folder in memory.
var mountPoints = []string{
	"/run/netns",
	"/run/containerd",
	"/var/lib/cni",
	"/var/lib/kubelet",
	"/var/log/pods",
	"/var/log/containers",
	"/usr/libexec/kubernetes",
}

// The kubelet requires these values, which are machine-wide. Inside the node they are files that already have them.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// makeMountPoints creates the missing folders and returns them.
func makeMountPoints() (made []string) {
	for _, folder := range mountPoints {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && os.MkdirAll(folder, 0o755) == nil {
			made = append(made, folder)
		}
	}
	return made
}

func removeMountPoints(made []string) error {
	for _, folder := range slices.Backward(made) {
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// mount gives the node its own /proc, the folders of mountPoints and the kernel settings.
func (n Node) mount() error {
	steps := []error{
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""), // makes mounts visible to the node's containers
		unix.Mount("proc", "/proc", "proc", 0, ""),
		unix.Sethostname([]byte(Name)),
		os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644), // applies to this network namespace only
	}
	for _, folder := range mountPoints {
		steps = append(steps, unix.Mount("none", folder, "tmpfs", 0, ""))
	}
	for name, value := range sysctls {
		file := n.settings("sysctl." + strings.ReplaceAll(name, "/", "."))
		steps = append(steps, os.WriteFile(file, []byte(value+"\n"), 0o644),
			unix.Mount(file, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""))
	}
	if err := errors.Join(steps...); err != nil {
		return fmt.Errorf("the node's view of the machine: %w", err)
	}
	return nil
}
