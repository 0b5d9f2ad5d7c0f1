package servicetest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Operation is a call of the service with the code that each caller gets.
type Operation struct {
	Call func(context.Context) error
	// Callers names the callers that get a code, separated by ", ".
	Callers map[codes.Code]string
}

// Access makes every call as every caller, in the order of their names. It fails for a code that is not the caller's,
// for a caller that an operation names never or twice, and for an error that contains secret.
func Access(t testing.TB, callers map[string]context.Context, operations map[string]Operation, secret string) {
	t.Helper()
	for _, caller := range slices.Sorted(maps.Keys(callers)) {
		for _, name := range slices.Sorted(maps.Keys(operations)) {
			want := operations[name].codes(t, name, callers)[caller]
			err := operations[name].Call(callers[caller])
			if got := status.Code(err); got != want {
				t.Errorf("%s as %s: %v (%v), want %v", name, caller, got, err, want)
			}
			if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
				t.Errorf("%s as %s: the error contains %s", name, caller, secret)
			}
		}
	}
}

// codes returns the expected code of each caller. It fails the test unless Callers names each of callers exactly once.
func (o Operation) codes(t testing.TB, name string, callers map[string]context.Context) map[string]codes.Code {
	t.Helper()
	found := map[string]codes.Code{}
	for code, list := range o.Callers {
		for caller := range strings.SplitSeq(list, ", ") {
			if _, twice := found[caller]; twice || callers[caller] == nil {
				t.Fatalf("%s: %s is no caller of this test, or named twice", name, caller)
			}
			found[caller] = code
		}
	}
	if len(found) != len(callers) {
		t.Fatalf("%s: codes for %v, want one for each of %v", name, slices.Sorted(maps.Keys(found)),
			slices.Sorted(maps.Keys(callers)))
	}
	return found
}
