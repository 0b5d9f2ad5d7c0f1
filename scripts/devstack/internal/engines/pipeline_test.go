package engines

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// pipeline returns the three Java engines on free ports. It skips the test on machines that cannot run them.
func pipeline(t *testing.T) (spawner *process.Spawner, engines []Engine, base int) {
	t.Helper()
	wanted := install.Wanted{Kafka: true, Connect: true, Elasticsearch: true, Distributions: os.Getenv("LAB_DISTRIBUTIONS")}
	if wanted.Distributions == "" || len(install.MissingPackages(wanted)) > 0 {
		missing := "Kafka and Elasticsearch are not at hand: run the tests under `devstack engines -- go test …`"
		if os.Getenv("LAB_REQUIRE_ENGINES") == "1" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	java, err := install.FetchJava(t.Context(), wanted, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	base, err = endpoints.FreeBase()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	place := func(name string, offset int) Place {
		return Place{Data: filepath.Join(dir, name), Log: filepath.Join(dir, name+".log"), Port: base + offset}
	}
	connect := Connect(place("connector", 2), local(base), "secret", java)
	kafka := Kafka(place("kafka", 0), KafkaBroker{Controllers: []string{local(base + 1)}}, java)
	kafka.Then = &connect
	spawner = process.NewSpawner(process.Directory(dir))
	t.Cleanup(spawner.Close)
	return spawner, []Engine{kafka, Elasticsearch(place("elasticsearch", 3), SearchNode{Transports: []string{local(base + 4)}}, java)}, base
}

func TestTheJavaEnginesComeBackByThemselvesAfterAKill(t *testing.T) {
	spawner, wanted, base := pipeline(t)
	document := "http://" + local(base+3) + "/patients/_doc/1"
	for round := range 2 {
		children, err := StartAll(t.Context(), spawner, wanted)
		t.Cleanup(func() { process.StopAll(children, 0) })
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			send(t, http.MethodPut, "http://"+local(base+3)+"/patients", "", http.StatusOK)
			send(t, http.MethodPut, document, `{"name":"x"}`, http.StatusCreated)
		} else if body := send(t, http.MethodGet, document, "", http.StatusOK); !strings.Contains(body, `"name":"x"`) {
			t.Errorf("the document is %s", body)
		}
		if body := send(t, http.MethodGet, "http://"+local(base+2)+"/connector-plugins", "", http.StatusOK); !strings.Contains(body, "MariaDbConnector") {
			t.Errorf("Kafka Connect knows %s", body)
		}
		send(t, http.MethodPut, "http://"+local(base+3)+"/missing/_doc/1", `{}`, http.StatusNotFound)
		for _, child := range children {
			if err := syscall.Kill(-child.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-child.Ended()
		}
	}
}

func send(t *testing.T, method, url, body string, want int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Fatalf("%s %s answers %d %s, want %d (%v)", method, url, response.StatusCode, text, want, err)
	}
	return string(text)
}

func TestAnEngineThatWaitsForAnotherIsNotStartedWithoutIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spawner := process.NewSpawner(process.Directory(dir))
	t.Cleanup(spawner.Close)
	then := Engine{Spec: process.Spec{Name: "second", Command: []string{"/bin/sleep", "60"}, LogFile: filepath.Join(dir, "second.log")}}
	first := Engine{Spec: process.Spec{Name: "first", Command: []string{"/bin/false"}, LogFile: filepath.Join(dir, "first.log")}, Then: &then}
	first.Ready = func(context.Context) error { return errors.New("not yet") }
	children, err := StartAll(t.Context(), spawner, []Engine{first})
	if err == nil || len(children) != 0 || !strings.Contains(err.Error(), "first ended while starting") {
		t.Fatalf("%d children, %v", len(children), err)
	}
}
