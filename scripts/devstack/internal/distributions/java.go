package distributions

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// oldestJava is the first version that Kafka 4, Debezium 3 and Elasticsearch 8 run on.
const oldestJava = 17

// ErrNoJava means that this machine has no Java development kit of version 17 or later.
var ErrNoJava = errors.New("no Java development kit of version 17 or later (programs java, javac and jar)")

// FindTools returns the programs of the first Java development kit that is new enough: JAVA_HOME, the one on PATH, then
// the installed ones. Without one it returns ErrNoJava. Maven is "" when it is not installed.
func FindTools() (Tools, error) {
	var tools Tools
	if maven, err := exec.LookPath("mvn"); err == nil {
		tools.Maven = maven
	}
	for _, home := range javaHomes() {
		if javaVersion(home) < oldestJava {
			continue
		}
		found := Tools{Java: filepath.Join(home, "bin", "java"), Javac: filepath.Join(home, "bin", "javac"),
			Jar: filepath.Join(home, "bin", "jar"), Maven: tools.Maven}
		if isFile(found.Java) && isFile(found.Javac) && isFile(found.Jar) {
			return found, nil
		}
	}
	return tools, ErrNoJava
}

func javaHomes() []string {
	var homes []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		homes = append(homes, home)
	}
	for _, program := range []string{"javac", "java"} { // a runtime alone may come first on PATH
		if path, err := exec.LookPath(program); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil {
				homes = append(homes, filepath.Dir(filepath.Dir(path)))
			}
		}
	}
	installed, _ := filepath.Glob("/usr/lib/jvm/*") // Glob fails only for a malformed pattern
	return append(homes, installed...)
}

var releaseVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// javaVersion returns the major version in the file "release" of a JDK, or 0 without such a file.
func javaVersion(home string) int {
	text, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return 0
	}
	match := releaseVersion.FindSubmatch(text)
	if match == nil {
		return 0
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return 0
	}
	return major
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
