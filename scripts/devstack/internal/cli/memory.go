package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	memory = "/dev/shm" // a file system in memory on Linux
	// memoryNeeded is the free memory in bytes to require: several times the databases of a full test run.
	memoryNeeded = 4 << 30
)

// tableFolder returns the folder for the tables of tests: a new one in memory if enough is free, where creating a table
// takes a tenth of the time on disk, else work.
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

// removeAbandoned removes the folders of processes that were killed before they removed theirs.
func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(memory, "labengines-*-*")) // Glob fails only for a malformed pattern
	for _, folder := range folders {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(folder), "labengines-%d-", &pid); err == nil && syscall.Kill(pid, 0) != nil {
			_ = os.RemoveAll(folder)
		}
	}
}

// free returns the free bytes on the file system of a folder, or 0 without such a folder.
func free(folder string) uint64 {
	var at syscall.Statfs_t
	if err := syscall.Statfs(folder, &at); err != nil {
		return 0
	}
	return at.Bavail * uint64(at.Bsize)
}
