package engines

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
)

// jvm is the command line of one Java engine.
type jvm struct {
	heapMiB   int
	flags     []string
	classPath []string // joined with colons in the command
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

// kafkaFlags returns the JVM flags of Kafka and Kafka Connect. They log warnings and errors on stderr, with UTC times.
// The optimizing compiler (C2) is off: on two cores it takes more CPU from the other engines in the first minutes than
// a small load ever saves.
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

func kafkaClassPath(java install.Java) []string {
	return []string{filepath.Join(java.Kafka, "jars", "*")}
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
