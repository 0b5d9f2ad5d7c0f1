package apidoc

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	startTimeout = 10 * time.Minute // including a first build
	session      = "demo-lab-user"
)

var platform *sandbox.Sandbox

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	// The production rate limit would refuse most of the generated requests.
	platform, err = sandbox.Build(ctx, "LAB_SEED=demo", "SEARCH_RATE_LIMIT_PER_MINUTE=1000000")
	if err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		return 1
	}
	defer platform.Remove()
	if _, err := platform.Up(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc: start the platform:", err)
		return 1
	}
	return m.Run()
}
