package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

const elasticsearchHeapMiB = 512

// SearchNode is what a node needs in addition to its own HTTP port: the transport addresses of all nodes of its
// cluster, as host:port, and the index of its own.
type SearchNode struct {
	Transports []string
	Number     int // index in Transports, from 0
}

// discovery returns the settings by which the nodes of a cluster find each other.
func (n SearchNode) discovery() []string {
	_, port, _ := net.SplitHostPort(n.Transports[n.Number])
	name := func(number int) string { return fmt.Sprintf("lab-%d", number+1) }
	settings := []string{"cluster.name=lab", "node.name=" + name(n.Number), "transport.port=" + port}
	if len(n.Transports) == 1 {
		return append(settings, "discovery.type=single-node")
	}
	var names []string
	for i := range n.Transports {
		names = append(names, name(i))
	}
	return append(settings, "node.processors=1", "discovery.seed_hosts="+strings.Join(n.Transports, ","),
		"cluster.initial_master_nodes="+strings.Join(names, ","))
}

// Elasticsearch returns one node. It does not create indices on write: a write to a missing index must fail.
func Elasticsearch(place Place, node SearchNode, java install.Java) Engine {
	run := jvm{
		heapMiB: elasticsearchHeapMiB,
		main:    "labplatform.search.SearchNode",
		flags: []string{
			"-XX:+UseG1GC",
			"-Duser.timezone=UTC",
			"-Dio.netty.noUnsafe=true",
			"-Dio.netty.allocator.numDirectArenas=0",
			"-Dlog4j2.disableJmx=true",
		},
		classPath: []string{filepath.Join(java.Elasticsearch, "classes"), filepath.Join(java.Elasticsearch, "lib", "*")},
		args: append(node.discovery(),
			"path.home="+filepath.Join(
				java.Elasticsearch,
				"home",
			),
			"path.data="+place.Data,
			"path.logs="+filepath.Dir(place.Log),
			"network.host=127.0.0.1",
			"http.port="+strconv.Itoa(place.Port),
			"action.auto_create_index=false",
			// Writes and segment merges continue on a machine whose disk is nearly full.
			"cluster.routing.allocation.disk.threshold_enabled=false",
			"indices.merge.disk.check_interval=0s",
			"logger.level=warn",
		),
	}
	health := "http://" + local(place.Port) + "/_cluster/health?wait_for_status=yellow&timeout=1s"
	return Engine{
		Spec:    process.Spec{Name: "elasticsearch", Command: run.command(java.Program), LogFile: place.Log},
		Prepare: func(context.Context) error { return os.MkdirAll(place.Data, 0o755) },
		Ready:   func(ctx context.Context) error { return pingHTTP(ctx, health) },
	}
}

// pingHTTP returns nil when url responds with status 200.
func pingHTTP(ctx context.Context, url string) error {
	_, err := get(ctx, url)
	return err
}

func getJSON(ctx context.Context, url string, answer any) error {
	body, err := get(ctx, url)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, answer)
}

// get returns the body of a response with status 200. Any other status is an error with the first bytes of the body.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf(
			"GET %s answers %d %s",
			url,
			response.StatusCode,
			strings.TrimSpace(string(body[:min(len(body), 256)])),
		)
	}
	return body, err
}
