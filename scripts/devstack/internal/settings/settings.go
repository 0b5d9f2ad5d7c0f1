// Package settings reads the LAB_ environment variables, which configure one stack.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
)

// Seed selects what the databases contain after the first start.
type Seed string

// Values of LAB_SEED.
const (
	SeedDemo Seed = "demo" // the demo laboratory
	SeedNone Seed = "none" // reference data only
)

// Settings is the configuration of one stack.
type Settings struct {
	Root     string // root of the repository, the folder of go.work
	Bin      string // folder of the built services
	Dir      string // LAB_DIR, absolute
	Ports    ports.Plan
	Pipeline bool // LAB_PIPELINE: change capture and search, with Kafka, Kafka Connect and Elasticsearch
	Seed     Seed
	Traces   bool // LAB_TRACES: run a trace viewer
	// RealMySQL selects MySQL instead of MariaDB when the stack starts its own database: LAB_DATABASE.
	RealMySQL bool

	Day           bool   // LAB_DEMO: simulate the work of the demo laboratory
	Distributions string // LAB_DISTRIBUTIONS: folder of downloaded engine programs; stacks may share it

	// KafkaAdvertised is the host:port that the broker advertises to clients, from LAB_KAFKA_ADVERTISED. "" is its own
	// listener.
	KafkaAdvertised string

	// Addresses of external engines; "" makes the stack start its own.
	MySQLDSN, RedisAddr, MongoURI, BlobURL string
	KafkaBrokers, ConnectURL, ESURL        string
}

// Load reads the settings with getenv. A dir other than "" overrides LAB_DIR.
func Load(dir string, getenv func(string) string) (Settings, error) {
	root, err := findRoot()
	if err != nil {
		return Settings{}, err
	}
	plan, err := ports.Parse(getenv("LAB_PORT_BASE"))
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		Root:         root,
		Bin:          filepath.Join(root, ".bin"),
		Ports:        plan,
		MySQLDSN:     getenv("LAB_MYSQL_DSN"),
		RedisAddr:    getenv("LAB_REDIS_ADDR"),
		MongoURI:     getenv("LAB_MONGO_URI"),
		BlobURL:      getenv("LAB_BLOB_URL"),
		KafkaBrokers: getenv("LAB_KAFKA_BROKERS"),
		ConnectURL:   getenv("LAB_CONNECT_URL"),
		ESURL:        getenv("LAB_ES_URL"),
	}
	if s.Pipeline, err = parsePipeline(getenv("LAB_PIPELINE")); err != nil {
		return Settings{}, err
	}
	if s.Traces, err = parseTraces(getenv("LAB_TRACES")); err != nil {
		return Settings{}, err
	}
	if s.RealMySQL, err = parseDatabase(getenv("LAB_DATABASE")); err != nil {
		return Settings{}, err
	}
	if s.Seed, err = parseSeed(getenv("LAB_SEED")); err != nil {
		return Settings{}, err
	}
	if s.Day, err = parseDay(getenv("LAB_DEMO"), s.Seed); err != nil {
		return Settings{}, err
	}
	if s.Dir, err = directory(dir, getenv("LAB_DIR"), root); err != nil {
		return Settings{}, err
	}
	if s.KafkaAdvertised, err = parseAddress("LAB_KAFKA_ADVERTISED", getenv); err != nil {
		return Settings{}, err
	}
	if s.Distributions, err = filepath.Abs(
		or(getenv("LAB_DISTRIBUTIONS"), filepath.Join(s.Dir, "distributions")),
	); err != nil {
		return Settings{}, err
	}
	if s.BlobURL == "" {
		s.BlobURL = (&url.URL{Scheme: "file", Path: filepath.ToSlash(s.Objects())}).String()
	}
	return s, nil
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}

func parseTraces(value string) (bool, error) {
	switch value {
	case "on":
		return true, nil
	case "", "off":
		return false, nil
	default:
		return false, fmt.Errorf("LAB_TRACES is %q: give on or off", value)
	}
}

func parsePipeline(value string) (bool, error) {
	switch value {
	case "", "on":
		return true, nil
	case "off":
		return false, nil
	default:
		return false, fmt.Errorf("LAB_PIPELINE is %q: give on or off", value)
	}
}

func parseDatabase(value string) (mysql bool, err error) {
	switch value {
	case "", "mariadb":
		return false, nil
	case "mysql":
		return true, nil
	default:
		return false, fmt.Errorf("LAB_DATABASE is %q: give mariadb or mysql", value)
	}
}

func parseAddress(name string, getenv func(string) string) (string, error) {
	value := getenv(name)
	if value == "" {
		return "", nil
	}
	if host, port, err := net.SplitHostPort(value); err != nil || host == "" || port == "" {
		return "", fmt.Errorf("%s is %q: give host:port", name, value)
	}
	return value, nil
}

// parseDay reports whether the work of the demo laboratory is simulated. The default is yes when stdout is a terminal
// and the demo laboratory is loaded.
func parseDay(value string, seed Seed) (bool, error) {
	switch value {
	case "day":
		return seed == SeedDemo, nil
	case "off":
		return false, nil
	case "":
		out, err := os.Stdout.Stat()
		return err == nil && out.Mode()&os.ModeCharDevice != 0 && seed == SeedDemo, nil
	default:
		return false, fmt.Errorf("LAB_DEMO is %q: give day or off", value)
	}
}

func parseSeed(value string) (Seed, error) {
	switch Seed(value) {
	case "", SeedDemo:
		return SeedDemo, nil
	case SeedNone:
		return SeedNone, nil
	default:
		return "", fmt.Errorf("LAB_SEED is %q: give demo or none", value)
	}
}

// directory returns the absolute path of a folder. The default is relative to the repository, a given path to the
// current directory.
func directory(flag, env, root string) (string, error) {
	for _, given := range []string{flag, env} {
		if given != "" {
			return filepath.Abs(given)
		}
	}
	return filepath.Join(root, ".lab"), nil
}

// findRoot searches for go.work upwards from the current directory, then from this program (.bin/devstack).
func findRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for _, start := range []string{here, filepath.Dir(program)} {
		for dir := start; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
				return dir, nil
			} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return "", fmt.Errorf("find the repository: %w", err)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("no go.work above the current directory: run devstack inside the repository")
}

// The places inside LAB_DIR.

// Run returns the folder of the pid files and the lock.
func (s Settings) Run() string { return filepath.Join(s.Dir, "run") }

// Log returns the log file of one child process.
func (s Settings) Log(name string) string { return filepath.Join(s.Dir, "logs", name+".log") }

// Data returns the data directory of one engine.
func (s Settings) Data(engine string) string { return filepath.Join(s.Dir, "data", engine) }

// Objects returns the folder of the object store.
func (s Settings) Objects() string { return filepath.Join(s.Dir, "objects") }
