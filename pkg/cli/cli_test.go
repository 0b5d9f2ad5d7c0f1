package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/cli"
)

func program() cli.Program {
	var port, times int
	return cli.Program{Name: "rerun", Summary: "sample rerun service", Verbs: []cli.Verb{
		{
			Name: "serve", Summary: "Serves.", Details: "Details of serving.",
			Flags: func(f *flag.FlagSet) { f.IntVar(&port, "port", 1, "the `port`") },
			Run: func(context.Context, []string) error {
				if port == 13 {
					return errors.New("port in use")
				}
				return nil
			},
		},
		{
			Name: "seed", Summary: "Seeds.", Args: "FILE",
			Flags: func(f *flag.FlagSet) { f.IntVar(&times, "times", 1, "how `often`") },
			Run: func(_ context.Context, args []string) error {
				switch {
				case len(args) != 1:
					return fmt.Errorf("%w: one FILE is needed", cli.ErrUsage)
				case times != 1:
					return fmt.Errorf("%s %d times", args[0], times)
				}
				return nil
			},
		},
	}}
}

func TestExitCodesAndOutput(t *testing.T) {
	t.Parallel()
	cases := []struct {
		args     string
		code     int
		out, err string
	}{
		{"", 2, "Verbs:", ""},
		{"--help", 0, "sample rerun service", ""},
		{"serve --help", 0, "Details of serving.", ""},
		{"serve --help", 0, "usage: rerun serve [flags]\n", ""},
		{"seed --help", 0, "usage: rerun seed [flags] FILE\n", ""},
		{"serve", 0, "", ""},
		{"serve twice", 2, "", `unexpected argument "twice"; see rerun serve --help`},
		{"serve port=13 --port 13", 2, "", `unexpected argument "port=13"`},
		{"serve --port 13", 1, "", "rerun serve: port in use"},
		{"serve --nonsense", 2, "", "nonsense"},
		{"fly", 2, "", `unknown verb "fly"`},
		{"seed", 2, "", "one FILE is needed; see rerun seed --help"},
		{"seed a.json", 0, "", ""},
		{"seed --times 2 a.json", 1, "", "a.json 2 times"},
		{"seed a.json --times 2", 1, "", "a.json 2 times"},
		{"seed a.json --times 2 b.json", 2, "", "one FILE is needed"},
		{"seed --times 2 -- --a.json", 1, "", "--a.json 2 times"},
		{"seed a.json --help", 0, "usage: rerun seed", ""},
		{"seed a.json --nonsense", 2, "", "nonsense"},
	}
	for _, c := range cases {
		var out, errs bytes.Buffer
		code := program().Main(strings.Fields(c.args), &out, &errs)
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%q: code = %d, want %d\nout: %s\nwant: %s\nerr: %s\nwant: %s", c.args, code, c.code, out.String(), c.out, errs.String(), c.err)
		}
	}
}

func TestMigrateRetriesOnlyWithWait(t *testing.T) {
	for _, c := range []struct{ args, tries, code int }{{args: 1, tries: 1, code: 1}, {args: 2, tries: 2, code: 0}} {
		tries := 0
		program := cli.Service{Name: "rerun", Migrate: func(context.Context) error {
			if tries++; tries == 1 {
				return errors.New("no database yet")
			}
			return nil
		}}.Program()
		var out bytes.Buffer
		code := program.Main([]string{"migrate", "--wait=1m"}[:c.args], &out, &out)
		if code != c.code || tries != c.tries {
			t.Errorf("%d arguments: code = %d after %d tries, want %d after %d: %s", c.args, code, tries, c.code, c.tries, out.String())
		}
	}
}
