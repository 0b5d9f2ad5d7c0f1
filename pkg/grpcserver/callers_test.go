package grpcserver_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/grpcserver"
	_ "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

func TestEveryMethodListsItsCallers(t *testing.T) {
	t.Parallel()
	// All services that call others today. An unlisted name is either misspelt or a decision to record.
	known := map[string]bool{
		"core": true, "instruments": true, "operator": true, "rerun": true, "callout": true, "notifications": true, "billsplit": true,
	}
	table := grpcserver.Callers()
	if len(table) < 45 {
		t.Errorf("methods = %d, want at least 45", len(table))
	}
	for method, callers := range table {
		if !callers.GetUsers() && len(callers.GetServices()) == 0 {
			t.Errorf("%s has no callers: add option (lab.type.v1.callers) to its contract", method)
		}
		for _, name := range callers.GetServices() {
			if !known[name] {
				t.Errorf("%s lists the unknown service %q", method, name)
			}
		}
	}
}

// The gateway only forwards calls, so its calls are admitted by the contract's entry for the service that called it.
func TestOnlyListedCallersAreAdmitted(t *testing.T) {
	t.Parallel()
	client, _, _ := start(t, config())
	for authorization, want := range map[string]codes.Code{
		"Bearer good": codes.OK, "Service core": codes.OK, "Service gateway": codes.PermissionDenied,
		"Service cellcounter": codes.PermissionDenied, "Service unknown": codes.PermissionDenied,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", authorization)
		if _, err := client.ListReruns(ctx, list(0)); status.Code(err) != want {
			t.Errorf("%s: error = %v, want %v", authorization, err, want)
		}
	}
}

func TestAFurtherCallerMayCallWhatTheOneThatItStandsForMay(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.FurtherCallers = map[string]string{"bridge": "core"}
	client, _, _ := start(t, cfg)
	for authorization, want := range map[string]codes.Code{
		"Service bridge": codes.OK, "Service core": codes.OK, "Service unknown": codes.PermissionDenied,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", authorization)
		if _, err := client.ListReruns(ctx, list(0)); status.Code(err) != want {
			t.Errorf("%s: error = %v, want %v", authorization, err, want)
		}
	}
	for further, as := range map[string]string{"bridge": "unlisted", "rerun": "core", "": "core"} {
		cfg := grpcserver.Config{MaxInFlight: 1, MaxStreams: 1, DefaultDeadlineSeconds: 1, MaxMessageBytes: 1,
			FurtherCallers: map[string]string{further: as}}
		if err := cfg.Validate(); err == nil {
			t.Errorf("Validate accepts %q as %q", further, as)
		}
	}
}
