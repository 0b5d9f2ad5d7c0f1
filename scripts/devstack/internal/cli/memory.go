package cli

import (
	"fmt"
	"os"
	"syscall"
)

const (
	memory = "/dev/shm" // Linux has a file system in memory there
	// memoryNeeded is several times what the databases of a full test run hold at once.
	memoryNeeded = 4 << 30
)

// tableFolder returns a new folder for the tables of tests: in memory, where each new table costs a tenth of what it
// costs on a disk, else below work.
func tableFolder(work string) (string, error) {
	if free(memory) < memoryNeeded {
		return work, nil
	}
	folder, err := os.MkdirTemp(memory, "labengines-")
	if err != nil {
		return "", fmt.Errorf("folder in memory: %w", err)
	}
	return folder, nil
}

// free returns how many bytes fit on the file system of a folder, 0 when there is no such folder.
func free(folder string) uint64 {
	var at syscall.Statfs_t
	if err := syscall.Statfs(folder, &at); err != nil {
		return 0
	}
	return at.Bavail * uint64(at.Bsize)
}
