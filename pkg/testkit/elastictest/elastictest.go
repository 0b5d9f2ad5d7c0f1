// Package elastictest gives each test its own part of the Elasticsearch at LAB_TEST_ES_URL: the indexes whose names
// start with the test's prefix. They are deleted when the test ends.
package elastictest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

// Env is the variable with the server's base address, such as http://127.0.0.1:9210.
const Env = "LAB_TEST_ES_URL"

const cleanupTimeout = 30 * time.Second

// New returns the server's base address without a trailing slash, and a lower-case prefix for names of indexes and
// aliases, such as "labtest_4f…_". Indexes must be created explicitly; a write does not create one.
func New(t testing.TB) (url, prefix string) {
	t.Helper()
	url = strings.TrimSuffix(engine.Setting(Env), "/")
	if url == "" {
		engine.Missing(t, "no Elasticsearch: set "+Env+", or run the tests with `devstack engines -- go test …`")
	}
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails since Go 1.24
	prefix = "labtest_" + hex.EncodeToString(b) + "_"
	t.Cleanup(func() { deleteIndexes(t, url, prefix) })
	return url, prefix
}

// deleteIndexes deletes indexes by name, because a server may refuse to delete by pattern.
func deleteIndexes(t testing.TB, url, prefix string) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	var found map[string]json.RawMessage
	err := call(ctx, http.MethodGet, url+"/"+prefix+"*?expand_wildcards=all&features=aliases", &found)
	for name := range found {
		if err == nil {
			err = call(ctx, http.MethodDelete, url+"/"+name, nil)
		}
	}
	if err != nil {
		t.Logf("delete the indexes %s*: %v", prefix, err)
	}
}

func call(ctx context.Context, method, url string, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: status %s", method, url, response.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(out)
}
