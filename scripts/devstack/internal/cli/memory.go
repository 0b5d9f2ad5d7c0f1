package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	memory = "/dev/shm" // Linux has a file system in memory there
	// memoryNeeded is several times what the databases of a full test run hold at once.
	memoryNeeded = 4 << 30
)

// tableFolder returns a new folder for the tables of tests: in memory, where each new table costs a tenth of what it
// costs on a disk, else work.
func tableFolder(work string) string {
	removeAbandoned()
	if free(memory) < memoryNeeded {
		return work
	}
	folder, err := os.MkdirTemp(memory, fmt.Sprintf("labengines-%d-", os.Getpid()))
	if err != nil {
		return work
	}
	return folder
}

// removeAbandoned removes the folders of processes that were killed before they could.
func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(memory, "labengines-*-*")) // the pattern is valid
	for _, folder := range folders {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(folder), "labengines-%d-", &pid); err == nil && syscall.Kill(pid, 0) != nil {
			_ = os.RemoveAll(folder)
		}
	}
}

// free returns how many bytes fit on the file system of a folder, 0 when there is no such folder.
func free(folder string) uint64 {
	var at syscall.Statfs_t
	if err := syscall.Statfs(folder, &at); err != nil {
		return 0
	}
	return at.Bavail * uint64(at.Bsize)
}
