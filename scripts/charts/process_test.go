package charts

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/freeport"
)

// binary returns the path of a built service. `make charts` builds them and passes the folder.
func binary(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("CHARTS_BIN")
	if folder == "" {
		t.Skip("make charts runs this: it builds the services and sets CHARTS_BIN")
	}
	return filepath.Join(folder, name)
}

// processEnvironment returns the variables that a pod of the chart gets, with a value for every Secret.
func processEnvironment(t *testing.T, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for v, e := range environment(t, name, "default") {
		switch {
		case e.ValueFrom == nil:
			all[v] = e.Value
		case v == "RERUN_MONGO_URI":
			all[v] = "mongodb://127.0.0.1:1"
		case !*orFalse(e.ValueFrom.SecretKeyRef.Optional):
			all[v] = v + strings.Repeat("-", 32)
		}
	}
	return all
}

func orFalse(b *bool) *bool {
	if b == nil {
		return new(bool)
	}
	return b
}

func pairs(all map[string]string) []string {
	var list []string
	for k, v := range all {
		list = append(list, k+"="+v)
	}
	return list
}

func TestPrintConfigNamesTheVariablesThatTheChartsKnow(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		command := exec.CommandContext(t.Context(), binary(t, name), "print-config")
		command.Env = pairs(processEnvironment(t, name))
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s with the chart's environment: %v\n%s", name, err, out)
			continue
		}
		var now []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "warning: ") {
				continue
			}
			now = append(now, strings.Fields(line)[0])
		}
		if diff := cmp.Diff(printed(t, name), now); diff != "" {
			t.Errorf("%s: its print-config.txt is not what it prints: -committed, +printed:\n%s", name, diff)
		}
	}
}

// TestPrintConfigWarnsOfDangerousValues checks that with a chart's defaults, a service warns only of settings that the
// installation must decide: encryption (may be left to a mesh), a Redis without password (may be protected by the
// network), sealing, and the permission to send.
func TestPrintConfigWarnsOfDangerousValues(t *testing.T) {
	t.Parallel()
	left := regexp.MustCompile(`^warning: [A-Z_]+(TLS|TLS_CA|TLS_CERT|KV_PASS|REDIS_PASS|SEND_PERMISSION|SEAL_KEYS_DIR) is (false|empty): .+`)
	for _, name := range names(t) {
		warnings := func(more ...string) (list []string) {
			command := exec.CommandContext(t.Context(), binary(t, name), "print-config")
			command.Env = append(pairs(processEnvironment(t, name)), more...)
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: got %v\n%s", name, err, out)
			}
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "warning: ") {
					list = append(list, strings.TrimSpace(line))
				}
			}
			return list
		}
		for _, w := range warnings() {
			if !left.MatchString(w) {
				t.Errorf("%s with the chart's defaults: %q", name, w)
			}
		}
		if want := prefix(t, name) + "PROFILING is true"; !strings.Contains(strings.Join(warnings(prefix(t, name)+"PROFILING=true"), "\n"), want) {
			t.Errorf("%s has no warning that %s", name, want)
		}
	}
}

// TestProbesHitPathsThatExist starts each service with its chart's environment and without stores. The process must be
// live and not ready on the paths that the probes request.
func TestProbesHitPathsThatExist(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := processEnvironment(t, name)
			container := deployment(t, name, "default").Template.Spec.Containers[0]
			moved := map[string]int{}
			for _, p := range container.Ports {
				for v, value := range env {
					if value == strconv.Itoa(int(p.ContainerPort)) {
						moved[p.Name] = freeport.One(t)
						env[v] = strconv.Itoa(moved[p.Name])
					}
				}
			}
			env[prefix(t, name)+"HOST"], env[prefix(t, name)+"DRAIN_DELAY_SECONDS"] = "127.0.0.1", "0"
			start(t, binary(t, name), pairs(env))
			address := fmt.Sprintf("http://127.0.0.1:%d", moved[container.StartupProbe.HTTPGet.Port.StrVal])
			await(t, address+container.StartupProbe.HTTPGet.Path)
			if got := status(t, address+container.LivenessProbe.HTTPGet.Path); got != 200 {
				t.Errorf("liveness: %d", got)
			}
			if got := status(t, address+container.ReadinessProbe.HTTPGet.Path); !slices.Contains([]int{200, 503}, got) {
				t.Errorf("readiness: %d", got)
			}
			if got := status(t, address+"/metrics"); got != 200 {
				t.Errorf("metrics: %d", got)
			}
		})
	}
}

func start(t *testing.T, path string, env []string) {
	t.Helper()
	command := exec.Command(path, "serve")
	log := &strings.Builder{}
	command.Env, command.Stderr = env, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

func status(t *testing.T, url string) int {
	t.Helper()
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// await repeats a request until its status is 200, for as long as the startup probe would.
func await(t *testing.T, url string) {
	t.Helper()
	tick, last := time.NewTicker(50*time.Millisecond), time.After(60*time.Second)
	defer tick.Stop()
	for status(t, url) != http.StatusOK {
		select {
		case <-tick.C:
		case <-last:
			t.Fatalf("%s does not answer 200", url)
		}
	}
}
