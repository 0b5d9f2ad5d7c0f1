package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// smallDisks maps each data folder with a disk of its own to the size of its file system. Mounting requires root.
var smallDisks = map[string]string{"objects": "64m", "redis": "96m", "mysql": "900m"}

// shrinkDisks moves folders to file systems small enough to be filled. Without root it moves none, and no disk is
// filled.
func (p *platform) shrinkDisks() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for name, size := range smallDisks {
		folder := filepath.Join(p.Dir, "data", name)
		move := p.shrink
		if name == "objects" {
			folder = p.objectsFolder()
		} else {
			move = func(folder, size string) error {
				return errors.Join(p.Stop(name), p.shrink(folder, size), p.Start(name, nil))
			}
		}
		if err := move(folder, size); err != nil {
			return fmt.Errorf("a small disk for %s: %w", name, err)
		}
		p.disks[name] = folder
	}
	return nil
}

func (p *platform) shrink(folder, size string) error {
	large := folder + ".large"
	if err := errors.Join(os.Rename(folder, large), os.Mkdir(folder, 0o755)); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		return err
	}
	return errors.Join(os.CopyFS(folder, os.DirFS(large)), os.RemoveAll(large))
}

func (p *platform) unmount() {
	folders := slices.Collect(maps.Values(p.disks))
	if p.replica != nil {
		folders = append(folders, p.replica.folder)
	}
	for _, folder := range folders {
		_ = syscall.Unmount(folder, syscall.MNT_DETACH)
	}
	_ = os.RemoveAll(p.Dir)
}

const filler = "filler"

// fill writes a file until the disk is full.
func fill(folder string) error {
	file, err := os.Create(filepath.Join(folder, filler))
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = io.Copy(file, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%s did not become full: %w", folder, err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
