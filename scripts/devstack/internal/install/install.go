// Package install makes the programs of the engines available on this machine: Debian packages, and distributions that
// Maven or apt downloads once. It imports nothing that takes long to compile, so that the command fetch can run while
// everything else is built.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// sbin directories contain servers but are often missing from a user's PATH.
var sbin = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/sbin"}

// LookPath returns the path of the first of names that is on PATH or in one of the sbin directories.
func LookPath(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
		for _, directory := range sbin {
			if path, err := exec.LookPath(filepath.Join(directory, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not installed", names[0])
}

// Wanted lists the engines that a stack starts itself.
type Wanted struct {
	MySQL, Redis, Kafka, Connect, Elasticsearch bool
	RealMySQL                                   bool   // MySQL selects MySQL in place of MariaDB
	Distributions                               string // folder of downloaded programs
}

// WantedBy returns the engines that a stack with these settings starts itself: engines that no LAB_ variable replaces.
func WantedBy(s settings.Settings) Wanted {
	return Wanted{
		MySQL:         s.MySQLDSN == "",
		RealMySQL:     s.RealMySQL,
		Redis:         s.RedisAddr == "",
		Distributions: s.Distributions,
		Kafka:         s.Pipeline && s.KafkaBrokers == "",
		Connect:       s.Pipeline && s.ConnectURL == "",
		Elasticsearch: s.Pipeline && s.ESURL == "",
	}
}

// MissingPackages returns the Debian packages that the wanted engines still need.
func MissingPackages(wanted Wanted) []string {
	var missing []string
	if _, err := LookPath("mariadbd", "mysqld"); wanted.MySQL && !wanted.RealMySQL && err != nil {
		missing = append(missing, "mariadb-server")
	}
	if _, err := LookPath("redis-server"); wanted.Redis && err != nil {
		missing = append(missing, "redis-server")
	}
	return append(missing, missingForJava(wanted)...)
}

// Packages installs the missing Debian packages of the wanted engines. It runs apt-get, as root, on Debian and Ubuntu;
// elsewhere it returns an error that lists what to install.
func Packages(ctx context.Context, wanted Wanted, progress io.Writer) error {
	if wanted.MySQL && wanted.RealMySQL {
		if err := FetchMySQL(ctx, wanted.Distributions, progress); err != nil {
			return err
		}
	}
	missing := MissingPackages(wanted)
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, " ")
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("missing: %s. Install it (Debian, Ubuntu: sudo apt-get install -y --no-install-recommends %s), "+
			"or point LAB_MYSQL_DSN, LAB_REDIS_ADDR, LAB_KAFKA_BROKERS with LAB_CONNECT_URL, and LAB_ES_URL at engines that run already, "+
			"or do without change capture and search: LAB_PIPELINE=off", list, list)
	}
	fmt.Fprintf(progress, "missing: %s; installing with apt-get (this happens once)\n", list)
	if err := runApt(ctx, progress, apt, "update", "-q"); err != nil {
		fmt.Fprintf(progress, "apt-get update: %v; trying the package lists at hand\n", err)
	}
	return runApt(ctx, progress, apt, append([]string{"install", "-y", "-q", "--no-install-recommends"}, missing...)...)
}

// runApt runs apt-get without starting the packages' own services, because the stack runs private instances.
func runApt(ctx context.Context, progress io.Writer, apt string, args ...string) error {
	policy := "/usr/sbin/policy-rc.d"
	if _, err := os.Stat(policy); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err == nil {
			defer func() { _ = os.Remove(policy) }()
		}
	}
	cmd := exec.CommandContext(ctx, apt, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w", args[0], err)
	}
	return nil
}
