package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

var declaredLock = regexp.MustCompile(`mysqldb\.Lock\{Service: "(\w+)", Purpose: "(\w+)"`)

// TestTheVerbLeaderShowsEveryLoopOfAService checks that the verb shows every lock that the source declares.
func TestTheVerbLeaderShowsEveryLoopOfAService(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"rerun", "callout", "externaledit", "notifications"} {
		await.True(t, service+" leader shows who delivers messages", func() bool {
			return regexp.MustCompile(`(?m)^lab\.` + service + `\.relay@\w+ .*KILL \d+`).MatchString(leaderVerb(t, service))
		})
		shown := leaderVerb(t, service)
		for _, lock := range declaredLocks(t, service) {
			if !strings.Contains(shown, lock+"@") {
				t.Errorf("%s leader leaves out %s:\n%s", service, lock, shown)
			}
		}
	}
}

func leaderVerb(t *testing.T, service string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), stack.Endpoints.Commands[service][0], "leader")
	for key, value := range stack.Endpoints.Environ[service] {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s leader: %v\n%s", service, err, out)
	}
	return string(out)
}

// declaredLocks returns the names of the locks in the source of a service's store.
func declaredLocks(t *testing.T, service string) (locks []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "services", service, "internal", "store", "mysql", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declaredLock.FindAllStringSubmatch(string(text), -1) {
			locks = append(locks, "lab."+found[1]+"."+found[2])
		}
	}
	if len(locks) == 0 {
		t.Fatalf("%s declares no lock", service)
	}
	return locks
}
