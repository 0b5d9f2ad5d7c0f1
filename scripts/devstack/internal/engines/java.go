package engines

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/distributions"
)

// Java says where the programs of the Java engines are.
type Java struct {
	Program       string // java
	Kafka         string // folder of the distribution; "" when no such engine is wanted
	Elasticsearch string // the same
}

// wantedDistributions lists what has to be at hand before the wanted engines can start.
func wantedDistributions(wanted Wanted) []distributions.Distribution {
	var list []distributions.Distribution
	if wanted.Kafka || wanted.Connect {
		list = append(list, distributions.Kafka())
	}
	if wanted.Elasticsearch {
		list = append(list, distributions.Elasticsearch())
	}
	return list
}

// missingForJava returns the Debian packages that the Java engines lack. Maven is wanted until all is fetched.
func missingForJava(wanted Wanted) []string {
	list := wantedDistributions(wanted)
	if len(list) == 0 {
		return nil
	}
	tools, err := distributions.FindTools()
	var missing []string
	if err != nil {
		missing = append(missing, "openjdk-17-jdk-headless")
	}
	for _, distribution := range list {
		if tools.Maven == "" && !distribution.Present(wanted.Distributions) {
			return append(missing, "maven")
		}
	}
	return missing
}

// FetchJava makes the distributions of the wanted engines available; call it after Install. They are fetched one
// after the other: Maven's local repository has one writer.
func FetchJava(ctx context.Context, wanted Wanted, progress io.Writer) (Java, error) {
	list := wantedDistributions(wanted)
	if len(list) == 0 {
		return Java{}, nil
	}
	tools, err := distributions.FindTools()
	if err != nil {
		return Java{}, err
	}
	java := Java{Program: tools.Java}
	for _, distribution := range list {
		dir, err := distribution.Ensure(ctx, wanted.Distributions, tools, progress)
		if err != nil {
			return Java{}, err
		}
		if distribution.Name == "kafka" {
			java.Kafka = dir
		} else {
			java.Elasticsearch = dir
		}
	}
	return java, nil
}

// jvm is how one Java engine is run.
type jvm struct {
	heapMiB   int
	flags     []string
	classPath []string // joined with colons
	main      string
	args      []string
}

func (j jvm) command(program string) []string {
	command := []string{
		program,
		"-Xms64m",
		"-Xmx" + strconv.Itoa(j.heapMiB) + "m",
		"-XX:+ExitOnOutOfMemoryError",
		"-Dfile.encoding=UTF-8",
	}
	command = append(command, j.flags...)
	return append(append(command, "-cp", strings.Join(j.classPath, ":"), j.main), j.args...)
}

// kafkaFlags: warnings and worse on stderr, with the time, in UTC. The optimising compiler stays away: on two cores it
// takes more in the first minutes than a small load ever gives back, from the other engines too.
func kafkaFlags() []string {
	const logger = "-Dorg.slf4j.simpleLogger."
	return []string{
		"-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1",
		"-Duser.timezone=UTC",
		logger + "defaultLogLevel=warn",
		logger + "showDateTime=true",
		logger + "dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
	}
}

func kafkaClassPath(java Java) []string { return []string{filepath.Join(java.Kafka, "jars", "*")} }

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
