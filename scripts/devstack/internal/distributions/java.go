package distributions

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// oldestJava runs Kafka 4, Debezium 3 and Elasticsearch 8.
const oldestJava = 17

// ErrNoJava means that this machine has no Java development kit that is new enough.
var ErrNoJava = errors.New("no Java development kit of version 17 or later (programs java, javac and jar)")

// FindTools returns the programs of JAVA_HOME, else those on PATH, else those of an installed kit, and ErrNoJava
// when none is new enough. Maven is "" when it is absent.
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
	installed, _ := filepath.Glob("/usr/lib/jvm/*") // the pattern is good
	return append(homes, installed...)
}

var releaseVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// javaVersion returns the major version in the file "release" of a JDK; 0 when there is none.
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
