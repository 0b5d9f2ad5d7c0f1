package edge

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyListedHeadersAreForwarded(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"Cookie": true, "Authorization": false, "traceparent": true, "Idempotency-Key": true, "If-Match": true,
		"Grpc-Metadata-X-Is-Internal-Request": false, "Host": false, "X-Forwarded-For": false, "Grpc-Timeout": false,
	} {
		if _, ok := matchIncoming(key); ok != want {
			t.Errorf("%s forwarded = %v, want %v", key, ok, want)
		}
	}
	header := http.Header{}
	for _, key := range []string{"x-is-internal-request", "Grpc-Metadata-X-Is-Internal-Request", "Grpc-Timeout", "x-http-method-override", "Cookie"} {
		header.Add(key, "True")
	}
	stripHeaders(header)
	if diff := cmp.Diff(http.Header{"Cookie": {"True"}}, header); diff != "" {
		t.Error(diff)
	}
}

func TestTrimSlash(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/": "/", "/queue/": "/queue", "/queue": "/queue", "/queue//": "/queue/"} {
		if got := trimSlash(in); got != want {
			t.Errorf("trimSlash(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestOnlyTheETagOfAServiceIsPassedOn(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{"etag": true, "x-http-code": false, "set-cookie": false, "content-type": false} {
		if name, ok := matchOutgoing(key); ok != want || (ok && name != "ETag") {
			t.Errorf("%s passed on as %q, %v; want %v", key, name, ok, want)
		}
	}
}
