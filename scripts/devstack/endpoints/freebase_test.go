package endpoints_test

import (
	"testing"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

func TestABaseIsGivenOnceWhileItsPortsAreStillFree(t *testing.T) {
	t.Parallel()
	first, err := endpoints.FreeBase()
	if err != nil {
		t.Fatal(err)
	}
	second, err := endpoints.FreeBase()
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Errorf("both stacks get %d", first)
	}
}
