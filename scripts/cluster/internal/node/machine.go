package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const cgroups = "/sys/fs/cgroup"

// connect creates the network link between this machine and the namespaces of the process with this id. The node's
// default route leads to this machine, which forwards no packets.
func connect(id int) error {
	inside := "inside " + strconv.Itoa(id) + " "
	for _, command := range []string{
		"ip link add " + Name + " type veth peer name " + Name + "-in",
		"ip link set " + Name + "-in netns " + strconv.Itoa(id) + " name eth0",
		"ip addr add " + Host + "/30 dev " + Name,
		"ip link set " + Name + " up",
		inside + "ip link set lo up",
		inside + "ip addr add " + NodeDNS + "/32 dev lo",
		inside + "ip addr add " + Address + "/30 dev eth0",
		inside + "ip link set eth0 up",
		inside + "ip route add default via " + Host,
		"ip route add " + pods + " via " + Address,
		"ip route add " + services + " via " + Address,
	} {
		words := strings.Fields(command)
		if words[0] == "inside" {
			words = append([]string{"nsenter", "--net", "--target", words[1]}, words[2:]...)
		}
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// disconnect deletes the link at once; otherwise the kernel deletes it some time after the namespaces.
func disconnect() error {
	if cable, _ := net.InterfaceByName(Name); cable == nil {
		return nil // the link no longer exists
	}
	return exec.Command("ip", "link", "del", Name).Run()
}

// makeGroups creates the node's control group in each hierarchy. The cpuset hierarchy needs CPUs and memory nodes in
// its group.
func makeGroups() error {
	for _, hierarchy := range hierarchies() {
		group := filepath.Join(hierarchy, Name)
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(hierarchy, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err = errors.Join(err, os.WriteFile(filepath.Join(group, file), text, 0o644)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hierarchies returns the folders of the control group hierarchies: several in version 1, one in version 2.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
		return []string{cgroups}
	}
	found, _ := filepath.Glob(filepath.Join(cgroups, "*", "cgroup.procs"))
	for i, file := range found {
		found[i] = filepath.Dir(file)
	}
	return found
}

// removeGroups deletes the groups, innermost first. It waits, because killed processes leave their group with a delay.
func removeGroups() error {
	var err error
	for range 50 {
		err = nil
		for _, hierarchy := range hierarchies() {
			err = errors.Join(err, removeGroup(filepath.Join(hierarchy, Name)))
		}
		if err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func removeGroup(top string) error {
	var folders []string
	walk := func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil // the group was removed meanwhile
	}
	if err := filepath.WalkDir(top, walk); err != nil {
		return err
	}
	var failed error
	for _, folder := range slices.Backward(folders) {
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	return failed
}

// Gone returns an error that lists the remains of an ended node: its link, groups, processes and mounts.
func (n Node) Gone() error {
	var left []string
	if _, err := net.InterfaceByName(Name); err == nil {
		left = append(left, "the link "+Name)
	}
	for _, hierarchy := range hierarchies() {
		if _, err := os.Stat(filepath.Join(hierarchy, Name)); err == nil {
			left = append(left, filepath.Join(hierarchy, Name))
		}
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), n.Dir) {
			left = append(left, filepath.Dir(file))
		}
	}
	if mounts, _ := os.ReadFile("/proc/mounts"); strings.Contains(string(mounts), n.Dir) {
		left = append(left, "a mount")
	}
	if len(left) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	return nil
}
