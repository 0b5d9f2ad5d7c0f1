package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity identifies a process of this machine even after its pid is reused.
type Identity struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"` // clock ticks from boot to the start of the process
	BootID     string `json:"boot_id"`
}

// Identify returns the identity of the process that currently has pid.
func Identify(pid int) (Identity, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("read boot id: %w", err)
	}
	return Identity{PID: pid, StartTicks: stat.startTicks, BootID: strings.TrimSpace(string(boot))}, nil
}

// Alive reports whether exactly this process is still running. A zombie is not.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	stat, err := readStat(id.PID)
	if err != nil || stat.state == "Z" || stat.state == "X" {
		return false
	}
	now, err := Identify(id.PID)
	return err == nil && now == id
}

type procStat struct {
	state      string
	startTicks uint64
}

// readStat parses /proc/<pid>/stat. The command name in parentheses may itself contain spaces and parentheses.
func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const startTimeField = 19 // index after the command name; field 22 of the whole line
	if len(fields) <= startTimeField {
		return procStat{}, fmt.Errorf("read process %d: unexpected stat", pid)
	}
	ticks, err := strconv.ParseUint(fields[startTimeField], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return procStat{state: fields[0], startTicks: ticks}, nil
}

// CommandLine returns the arguments of pid joined by spaces, or "" when they cannot be read.
func CommandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// PortOwner returns the pid of the process that listens on a local TCP port. It returns 0 when there is none, or when
// the listener belongs to a user whose processes this one may not inspect.
func PortOwner(port int) int {
	inodes := listeningInodes(port)
	if len(inodes) == 0 {
		return 0
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !inodes[target] {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
			return pid
		}
	}
	return 0
}

// listeningInodes returns the "socket:[inode]" links of the sockets in state LISTEN on port.
func listeningInodes(port int) map[string]bool {
	const stateListen = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == stateListen {
				inodes["socket:["+fields[9]+"]"] = true
			}
		}
	}
	return inodes
}
