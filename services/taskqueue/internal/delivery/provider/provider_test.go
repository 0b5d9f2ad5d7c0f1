package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/fstest"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func TestStatusesWithoutABetterCodeHaveTheirClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		paid, free string
	}{
		{301, "elsewhere", "elsewhere"}, {400, "permanent", "permanent"}, {401, "elsewhere", "elsewhere"}, {402, "elsewhere", "elsewhere"},
		{403, "elsewhere", "elsewhere"}, {404, "elsewhere", "elsewhere"}, {408, "retry", "retry"}, {413, "permanent", "permanent"},
		{422, "permanent", "permanent"}, {425, "retry", "retry"}, {429, "postponed", "postponed"}, {500, "retry", "retry"}, {502, "unknown", "retry"},
		{503, "retry", "retry"}, {504, "unknown", "retry"}, {520, "unknown", "retry"},
	} {
		for paid, want := range map[bool]string{true: c.paid, false: c.free} {
			if got := provider.Outcome(provider.Status(&netguard.Response{Status: c.status}, time.Unix(0, 0), paid, "")); got != want {
				t.Errorf("%d, paid %t: %s, want %s", c.status, paid, got, want)
			}
		}
	}
}

func TestNoAnswerIsDoubtOnlyAfterAPaidRequestWasWritten(t *testing.T) {
	t.Parallel()
	dropping := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(dropping.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
	t.Cleanup(client.Close)
	for _, c := range []struct {
		name, url string
		paid      bool
		want      string
	}{
		{"paid, connection lost after the request", dropping.URL, true, "unknown"},
		{"free, connection lost after the request", dropping.URL, false, "retry"},
		{"paid, no one listens", closed.URL, true, "retry"},
		{"paid, address refused", "http://10.0.0.1/", true, "elsewhere"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		deps, q := provider.Deps{API: client}, netguard.Request{Method: "POST", URL: u, Body: []byte("x"), Timeout: 5 * time.Second}
		var result job.Result
		if c.paid {
			result, err = deps.Send(t.Context(), q, nil)
		} else {
			_, err = deps.Do(t.Context(), q)
		}
		if provider.Outcome(err) != c.want || result.Sent != (c.want == "unknown") {
			t.Errorf("%s: %s (%v), want %s", c.name, provider.Outcome(err), err, c.want)
		}
	}
}

func TestSecretsAreFilesOfOneDirectory(t *testing.T) {
	t.Parallel()
	d := provider.Directory{Root: fstest.MapFS{"sms_token": {Data: []byte("s3cret\n")}, "empty": {}}}
	if got, err := d.Secret("sms_token"); err != nil || got.Reveal() != "s3cret" {
		t.Errorf("secret: %v", err)
	}
	for _, name := range []string{"", "missing", "empty", "../etc/passwd", "a/b", ".hidden"} {
		if _, err := d.Secret(name); err == nil {
			t.Errorf("%q was found", name)
		}
	}
	if _, err := (provider.Directory{}).Secret("sms_token"); err == nil {
		t.Error("a secret without a directory was found")
	}
}

func TestMisspeltSettingsAreRefused(t *testing.T) {
	t.Parallel()
	var dst struct {
		Host string `json:"host"`
	}
	if err := provider.Decode([]byte(`{"kind":"smtp","rate_per_second":2,"host":"h"}`), &dst); err != nil || dst.Host != "h" {
		t.Errorf("got %+v, %v, want h", dst, err)
	}
	for _, raw := range []string{`{"hots":"h"}`, `[]`, `{"host":1}`, ``} {
		if err := provider.Decode([]byte(raw), &dst); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}

func TestAFailureOfTheProviderIsOneForGoodAndElsewhere(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("wrapped: %w", provider.FailOver("x", "y"))
	if f := job.AsFailure(wrapped); !f.Permanent || provider.Outcome(wrapped) != "elsewhere" {
		t.Error("the class got lost")
	}
	if provider.Outcome(job.Permanent("x", "y")) == "elsewhere" {
		t.Error("a failure of the message is not one of the provider")
	}
}
