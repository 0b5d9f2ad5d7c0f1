package apidoc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/freeport"
)

const integratingPage = "docs/integrating.md"

var samples = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

var sampleName = regexp.MustCompile(`^(?:#|//) (\w+\.\w+)\n`)

// interpreters maps the extension of a sample to the program that runs it. Go samples are built first.
var interpreters = map[string]string{".py": "python3", ".mjs": "node", ".go": "go"}

// sample is a program of the page for integrators, written into its own folder.
type sample struct{ name, folder string }

// integratingSamples writes the page's programs into folders. It returns them by name, and the page's blocks of
// commands.
func integratingSamples(t *testing.T, here *strings.Replacer) (map[string]sample, []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, integratingPage))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]sample{}
	var commands []block
	for _, found := range samples.FindAllStringSubmatch(string(text), -1) {
		if found[1] == "sh" {
			commands = append(commands, block{integratingPage, found[2]})
			continue
		}
		named := sampleName.FindStringSubmatch(found[2])
		if named == nil {
			t.Fatalf("a sample has no name in its first line:\n%s", found[2])
		}
		s := sample{named[1], t.TempDir()}
		write(t, filepath.Join(s.folder, s.name), here.Replace(found[2]))
		programs[s.name] = s
	}
	return programs, commands
}

// start runs the sample until the test ends, and returns a channel of the lines that it prints.
func (s sample) start(t *testing.T, environment ...string) <-chan string {
	t.Helper()
	interpreter := interpreters[filepath.Ext(s.name)]
	needs(t, interpreter)
	ctx, stop := context.WithCancel(t.Context())
	program := exec.CommandContext(ctx, interpreter, s.name)
	if interpreter == "go" {
		command(t, s.folder, "go", "build", "-o", "sample", s.name)
		program = exec.CommandContext(ctx, "./sample")
	}
	var problems strings.Builder
	program.Dir, program.Env, program.Stderr = s.folder, append(os.Environ(), environment...), &problems
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		stop()
		_ = program.Wait() // fails because the program was killed
		t.Log(problems.String())
	})
	return lines
}

// next returns the next line. It fails after a minute, which allows for compiling a sample.
func next(t *testing.T, what string, lines <-chan string) string {
	t.Helper()
	select {
	case line, ok := <-lines:
		if !ok {
			t.Fatalf("%s: the program ended without it", what)
		}
		return line
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing came for a minute", what)
		return ""
	}
}

// TestTheSamplesForIntegratorsWork runs every sample of the page as its reader would, and checks its output.
func TestTheSamplesForIntegratorsWork(t *testing.T) {
	port := freeport.One(t)
	here := addresses()
	programs, commands := integratingSamples(t, strings.NewReplacer("127.0.0.1:8090", strings.TrimPrefix(platform.Endpoints.Gateway, "http://"),
		`("127.0.0.1", 9000)`, fmt.Sprintf(`("127.0.0.1", %d)`, port), "listen(9000", fmt.Sprintf("listen(%d", port),
		"127.0.0.1:9000", fmt.Sprintf("127.0.0.1:%d", port)))
	for _, command := range commands {
		command.run(t, here)
	}
	for name, s := range programs {
		t.Run(name, func(t *testing.T) {
			switch strings.TrimSuffix(name, filepath.Ext(name)) {
			case "call":
				if got := next(t, "the first cell", s.start(t)); got != "Neutrophil" {
					t.Errorf("the program says %q, want Neutrophil", got)
				}
			case "receiver":
				s.receives(t, port)
			case "follow":
				s.follows(t)
			default:
				t.Error("no test runs this sample")
			}
		})
	}
	if len(programs) < 7 || len(commands) < 2 {
		t.Errorf("%d programs and %d blocks of commands, want at least 7 and 2", len(programs), len(commands))
	}
}

// receives makes the platform send a result to the sample, after a forged one was refused.
func (s sample) receives(t *testing.T, port int) {
	t.Helper()
	secret := platform.Endpoints.Environ["taskqueue"]["TASKQUEUE_CALLBACK_SECRET"]
	lines := s.start(t, "SECRET="+secret)
	address := fmt.Sprintf("http://127.0.0.1:%d/results", port)
	if status := forge(t, address); status != http.StatusUnauthorized {
		t.Errorf("a forged result: %d, want 401", status)
	}
	task := fmt.Sprintf(`[{"task":1,"task_type":4,"data":{"contact":"+919812345678","message":"Your bill is ready"},"subscribe":%q}]`, address)
	status, answer := exchange(t, platform.Endpoints, false, http.MethodPost, "/queue", []byte(task))
	var accepted struct {
		JobIDs []string `json:"job_ids"`
	}
	if err := json.Unmarshal(answer, &accepted); err != nil || status != http.StatusOK {
		t.Fatalf("got %d %s, %v, want 200", status, answer, err)
	}
	if got, want := next(t, "the result", lines), accepted.JobIDs[0]+" finished"; got != want {
		t.Errorf("the receiver says %q, want %q", got, want)
	}
}

// forge sends a result with an invalid signature as soon as the receiver listens, and returns the status of the
// response.
func forge(t *testing.T, address string) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"job_id":"forged","status":"finished"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("webhook-id", "forged")
		request.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()))
		request.Header.Set("webhook-signature", "v1,JPHVkhtx0vVJuMS3cBSYUgO5umQ8vNAmzTEr1o7sVvM=")
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close()
			return response.StatusCode
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// follows reads the event stream of the inbox with the stream reader of the pages, which the gateway serves.
func (s sample) follows(t *testing.T) {
	t.Helper()
	status, reader := exchange(t, platform.Endpoints, false, http.MethodGet, "/assets/stream.js", nil)
	if status != http.StatusOK {
		t.Fatalf("the reader: %d", status)
	}
	write(t, filepath.Join(s.folder, "stream.js"), string(reader))
	write(t, filepath.Join(s.folder, "package.json"), `{"type":"module"}`)
	if got := next(t, "the first event", s.start(t)); !strings.HasPrefix(got, "unread { unread_count:") {
		t.Errorf("the first event is %q, want the count of unread notifications", got)
	}
}
