package mysqldb_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

func TestValidateReportsEveryProblem(t *testing.T) {
	t.Parallel()
	good := mysqldb.Config{Host: "db", Port: 3306, PoolSize: 2}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*mysqldb.Config)
		says   string
	}{
		"no host":            {func(c *mysqldb.Config) { c.Host = "" }, "DB_HOST"},
		"port zero":          {func(c *mysqldb.Config) { c.Port = 0 }, "DB_PORT is 0"},
		"port too high":      {func(c *mysqldb.Config) { c.Port = 65536 }, "DB_PORT is 65536"},
		"a pool of one":      {func(c *mysqldb.Config) { c.PoolSize = 1 }, "DB_POOL_SIZE is 1: it must be at least 2"},
		"a negative pool":    {func(c *mysqldb.Config) { c.PoolSize = -1 }, "DB_POOL_SIZE is -1"},
		"a pool of millions": {func(c *mysqldb.Config) { c.PoolSize = 2_000_000 }, "at most 10000"},
		"negative recycling": {func(c *mysqldb.Config) { c.PoolRecycleSeconds = -1 }, "DB_POOL_RECYCLE is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			c.change(&cfg)
			if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("Validate = %v, want an error with %q", err, c.says)
			}
		})
	}
}

func TestLimitOfCallsDependsOnThePool(t *testing.T) {
	t.Parallel()
	cfg := mysqldb.Config{PoolSize: 10}
	if err := cfg.CheckMaxInFlight(cfg.MaxInFlight()); err != nil {
		t.Fatal(err)
	}
	if err := cfg.CheckMaxInFlight(cfg.MaxInFlight() + 1); err == nil || !strings.Contains(err.Error(), "DB_POOL_SIZE 10") {
		t.Fatalf("CheckMaxInFlight above the limit = %v, want an error that names DB_POOL_SIZE 10", err)
	}
}
