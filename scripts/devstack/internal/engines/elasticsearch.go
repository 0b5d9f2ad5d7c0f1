package engines

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

const elasticsearchHeapMiB = 512

// Elasticsearch describes one node; transportPort is the other port that it opens. An index is only made by name:
// a write to one that is missing must fail.
func Elasticsearch(place Place, transportPort int, java Java) Engine {
	run := jvm{heapMiB: elasticsearchHeapMiB, main: "labplatform.search.SearchNode",
		flags:     []string{"-XX:+UseG1GC", "-Duser.timezone=UTC", "-Dio.netty.noUnsafe=true", "-Dio.netty.allocator.numDirectArenas=0", "-Dlog4j2.disableJmx=true"},
		classPath: []string{filepath.Join(java.Elasticsearch, "classes"), filepath.Join(java.Elasticsearch, "lib", "*")},
		args: []string{
			"path.home=" + filepath.Join(java.Elasticsearch, "home"), "path.data=" + place.Data, "path.logs=" + filepath.Dir(place.Log),
			"cluster.name=lab", "node.name=lab-1", "discovery.type=single-node", "network.host=127.0.0.1",
			"http.port=" + strconv.Itoa(place.Port), "transport.port=" + strconv.Itoa(transportPort),
			"action.auto_create_index=false", "cluster.routing.allocation.disk.threshold_enabled=false", "logger.level=warn",
		}}
	health := "http://" + local(place.Port) + "/_cluster/health?wait_for_status=yellow&timeout=1s"
	return Engine{
		Spec:    process.Spec{Name: "elasticsearch", Command: run.command(java.Program), LogFile: place.Log},
		Prepare: func(context.Context) error { return os.MkdirAll(place.Data, 0o755) },
		Ready:   func(ctx context.Context) error { return pingHTTP(ctx, health) },
	}
}

// pingHTTP succeeds when the answer is 200; else the error has its first bytes.
func pingHTTP(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 256))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s answers %d %s", url, response.StatusCode, strings.TrimSpace(string(body)))
	}
	return nil
}
