package elastictest_test

import (
	"net/http"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/elastictest"
)

func TestIndexesAreDeletedAfterTheTest(t *testing.T) {
	t.Parallel()
	var index string
	t.Run("makes an index", func(t *testing.T) {
		url, prefix := elastictest.New(t)
		index = url + "/" + prefix + "patients"
		if status := send(t, http.MethodPut, index); status != http.StatusOK {
			t.Fatalf("create: status = %d, want 200", status)
		}
		if status := send(t, http.MethodHead, index); status != http.StatusOK {
			t.Fatalf("head: status = %d, want 200", status)
		}
	})
	if index == "" {
		t.Skip("no Elasticsearch, see the subtest")
	}
	if status := send(t, http.MethodHead, index); status != http.StatusNotFound {
		t.Fatalf("head after the test: status = %d, want 404", status)
	}
}

func TestEachTestHasItsOwnPrefix(t *testing.T) {
	t.Parallel()
	_, first := elastictest.New(t)
	_, second := elastictest.New(t)
	if first == second {
		t.Fatalf("prefixes of two tests are both %q, want different ones", first)
	}
}

func send(t *testing.T, method, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
