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

func TestEveryMethodSaysWhoMayCallIt(t *testing.T) {
	t.Parallel()
	// Who calls whom today; a name that is not here is a misspelling or a decision to write down.
	known := map[string]bool{
		"core": true, "instruments": true, "operator": true, "rerun": true, "callout": true, "notifications": true, "billsplit": true,
	}
	table := grpcserver.Callers()
	if len(table) < 45 {
		t.Errorf("only %d methods", len(table))
	}
	for method, callers := range table {
		if !callers.GetUsers() && len(callers.GetServices()) == 0 {
			t.Errorf("%s: add option (lab.type.v1.callers) to its contract", method)
		}
		for _, name := range callers.GetServices() {
			if !known[name] {
				t.Errorf("%s names the unknown service %q", method, name)
			}
		}
	}
}

// The gateway forwards calls and makes none: who called it is what the contract lists.
func TestOnlyListedCallersGetIn(t *testing.T) {
	t.Parallel()
	client, _, _ := start(t, config())
	for authorization, want := range map[string]codes.Code{
		"Bearer good": codes.OK, "Service core": codes.OK, "Service gateway": codes.PermissionDenied,
		"Service cellcounter": codes.PermissionDenied, "Service stranger": codes.PermissionDenied,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", authorization)
		if _, err := client.ListReruns(ctx, list(0)); status.Code(err) != want {
			t.Errorf("%s: %v, want %v", authorization, err, want)
		}
	}
}
