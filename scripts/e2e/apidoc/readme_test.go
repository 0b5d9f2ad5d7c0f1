package apidoc

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// block is one block of commands of a README. Its output must match its comments, whatever blocks ran before.
type block struct{ readme, text string }

var fenced = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

func blocks(t *testing.T) []block {
	t.Helper()
	readmes, err := filepath.Glob(filepath.Join(root, "services/*/README.md"))
	if err != nil || len(readmes) < 9 {
		t.Fatalf("%d READMEs, %v", len(readmes), err)
	}
	var all []block
	for _, readme := range append(readmes, filepath.Join(root, "gateway/README.md"), filepath.Join(root, "README.md")) {
		if !strings.HasSuffix(readme, os.Getenv("LAB_TEST_README")) { // set by make test SERVICE=rerun
			continue
		}
		text, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		before := len(all)
		for _, found := range fenced.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "curl ") {
				all = append(all, block{strings.TrimPrefix(readme, root+"/"), found[1]})
			}
		}
		if len(all) == before {
			t.Errorf("%s has no block ```sh with a curl line", readme)
		}
	}
	return all
}

// TestTheCommandsOfTheREADMEsDoWhatTheySay runs every block, in an order that depends on the seed, and compares its
// output with its comments.
func TestTheCommandsOfTheREADMEsDoWhatTheySay(t *testing.T) {
	all := blocks(t)
	seed := uint64(12)
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d blocks, seed %d", len(all), seed)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	here := addresses()
	for _, b := range all {
		if strings.Contains(b.text, ":8090/api/v1/") || strings.Contains(b.text, "cdc") {
			if platform.Endpoints.Search == "" {
				t.Logf("%s: the platform runs without the pipeline", b.readme)
				continue
			}
		}
		b.run(t, here)
	}
}

// addresses replaces the addresses in READMEs by those of the tests' platform.
func addresses() *strings.Replacer {
	e, host := platform.Endpoints, func(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/") }
	return strings.NewReplacer(
		"127.0.0.1:8090", host(e.Gateway), "127.0.0.1:8091", host(e.GatewayInternal),
		"127.0.0.1:8004", strings.TrimSuffix(host(e.TaskqueueOutbox), "/outbox"), "127.0.0.1:8080", host(e.CDC),
		".bin/devstack", e.InternalTokenCommand[0]+" --dir "+platform.Dir,
		"curl -s ", "curl --retry 3 -s ") // a busy machine sometimes responds 503 with Retry-After
}

func (b block) run(t *testing.T, here *strings.Replacer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "timeout", "60", "bash", "-c", here.Replace(b.text))
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(b.text, "--max-time") { // --max-time ends a stream with an error
		t.Errorf("%s: %v\n%s\n%s", b.readme, err, b.text, out)
	}
	rest := string(out)
	for _, want := range expectations(b.text) {
		found := want.FindStringIndex(rest)
		if found == nil {
			t.Errorf("%s:\n%s\nprints no %s, but:\n%.2000s", b.readme, b.text, want, out)
			return
		}
		rest = rest[found[0]+1:]
	}
}

// expectations returns a pattern for each comment on a line of its own, in their order. The character … matches
// anything. Spaces after colons and commas are optional, because MySQL adds them to stored JSON.
func expectations(text string) []*regexp.Regexp {
	anyServer := strings.NewReplacer("…", ".*?", `":`, `": ?`, `,"`, `, ?"`)
	var all []*regexp.Regexp
	for line := range strings.Lines(text) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			all = append(all, regexp.MustCompile("(?s)"+anyServer.Replace(regexp.QuoteMeta(said))))
		}
	}
	return all
}
