package cli

import (
	"context"
	"fmt"
	"io"
)

const help = `devstack runs the laboratory platform on this machine.

  devstack run                  start everything in the foreground; Ctrl-C stops it
  devstack up                   the same in the background
  devstack down                 stop it; data stays
  devstack reset                stop it and delete LAB_DIR
  devstack status               what runs
  devstack seed FILE            write a fixture into the stores of the stack
  devstack seed-volume [--users N] [--labs N] [--seed-number N]
                                generate patients, bills and reports; the same for the same seed number
  devstack print-internal-token print a service token for the internal listener (60 s)
  devstack engines -- CMD …     run CMD with private test engines (LAB_TEST_MYSQL_DSN, LAB_TEST_MONGO_URI)

Options before the verb: --dir DIR (instead of LAB_DIR).
Environment: LAB_DIR, LAB_PORT_BASE, LAB_PIPELINE=on|off, LAB_SEED=demo|none, and LAB_MYSQL_DSN, LAB_REDIS_ADDR,
LAB_MONGO_URI, LAB_BLOB_URL to use an engine that runs already. All of it is explained in scripts/devstack/README.md.
`

// Main runs one verb and returns the exit code of the program.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, help)
		return 2
	}
	code, err := dispatch(ctx, args[0], args[1:], stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "devstack: %v\n", err)
		return max(code, 1)
	}
	return code
}

func dispatch(ctx context.Context, verb string, args []string, stdout, stderr io.Writer) (int, error) {
	switch verb {
	case "engines":
		return runEngines(ctx, args, stderr)
	case "document-store":
		return 0, serveDocumentStore(ctx, args, stderr)
	case "help", "--help", "-h":
		fmt.Fprint(stdout, help)
		return 0, nil
	default:
		return 2, fmt.Errorf("unknown verb %q: see devstack --help", verb)
	}
}
