package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/stack"
)

const help = `devstack runs the laboratory platform on this machine.

  devstack run                  start everything in the foreground; Ctrl-C stops it
  devstack up                   the same in the background
  devstack down                 stop it; data stays
  devstack reset                stop it and delete LAB_DIR
  devstack status               what runs
  devstack examples             requests to copy and paste, with the addresses of the running stack
  devstack seed FILE            write a fixture into the stores of the stack
  devstack print-internal-token print a service token for the gateway's internal listener (60 s),
                                or with --for SERVICE for the gRPC port of a service
  devstack exec SERVICE VERB …  run a verb of a service with the environment of the running stack,
                                e.g. devstack exec cdc connectors status
  devstack engines -- CMD …     run CMD with private test engines (LAB_TEST_MYSQL_DSN, LAB_TEST_MONGO_URI,
                                LAB_TEST_KAFKA_BROKERS, LAB_TEST_ES_URL)
  devstack libreoffice          fetch LibreOffice, once, and print the path of its program (for LAB_SOFFICE)
  devstack counterparts         fetch a mail server and a proxy, once, and print their folder (for LAB_COUNTERPARTS)

Options before the verb: --dir DIR (instead of LAB_DIR).
Environment: LAB_DIR, LAB_PORT_BASE, LAB_PIPELINE=on|off, LAB_TRACES=on|off, LAB_SEED=demo|none, LAB_DEMO=day|off,
LAB_DISTRIBUTIONS, LAB_KAFKA_ADVERTISED, and LAB_MYSQL_DSN, LAB_REDIS_ADDR, LAB_MONGO_URI, LAB_BLOB_URL,
LAB_KAFKA_BROKERS, LAB_CONNECT_URL, LAB_ES_URL to use an engine that runs already.
All of it is explained in scripts/devstack/README.md.
`

// Main runs one verb and returns the program's exit code: 0 success, 1 failure, 2 wrong usage, 3 when the stack runs
// already. engines returns the exit code of its command.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("devstack", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("dir", "", "instead of LAB_DIR")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp) || flags.Arg(0) == "help" || slices.Contains(flags.Args()[:min(2, flags.NArg())], "--help"):
		fmt.Fprint(stdout, help)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "devstack: %v; see devstack --help\n", err)
		return 2
	case flags.NArg() == 0:
		fmt.Fprint(stderr, help)
		return 2
	}
	code, err := dispatch(ctx, *dir, flags.Arg(0), flags.Args()[1:], stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "devstack: %v\n", err)
		return max(code, 1)
	}
	return code
}

// dispatch runs the verb. The verbs in parts need no settings; for all others it loads them first.
func dispatch(ctx context.Context, dir, verb string, args []string, stdout, stderr io.Writer) (int, error) {
	if serve, found := parts[verb]; found {
		return 0, serve(ctx, args, stderr)
	}
	s, err := settings.Load(dir, os.Getenv)
	if err != nil {
		return 2, err
	}
	switch verb {
	case "exec":
		return runVerb(ctx, s, args)
	case "engines":
		return runEngines(ctx, s, args, stderr)
	case "run":
		return run(ctx, s, stdout)
	case "up":
		return 0, up(ctx, s, stdout)
	case "down":
		return 0, stack.Stop(s, stdout)
	case "reset":
		return 0, stack.Reset(s, stdout)
	case "status":
		return status(s, stdout), nil
	case "examples":
		return 0, stack.Examples(s, stdout)
	case "seed":
		return 0, seedFile(ctx, s, args, stdout)
	case "print-internal-token":
		return printInternalToken(s, args, stdout)
	case "libreoffice":
		soffice, err := install.LibreOffice(ctx, s.Distributions, stderr)
		if err == nil {
			fmt.Fprintln(stdout, soffice)
		}
		return 0, err
	case "counterparts":
		folder, err := install.Counterparts(ctx, s.Distributions, stderr)
		if err == nil {
			fmt.Fprintln(stdout, folder)
		}
		return 0, err
	default:
		return 2, fmt.Errorf("unknown verb %q: see devstack --help", verb)
	}
}

// status returns 0 when the stack is ready and 1 when it is not.
func status(s settings.Settings, stdout io.Writer) int {
	if stack.Status(s, stdout) {
		return 0
	}
	return 1
}
