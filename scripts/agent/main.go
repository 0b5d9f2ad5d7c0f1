// Command agent plays the desktop application of external editing on the command line: it opens a session, downloads
// the document, and whenever that is saved, converts it to PDF and uploads both, until Ctrl-C ends the session.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
	exitLost   = 3 // somebody took the session over, or it ended; the document is kept
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil:
		return
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errUsage):
		os.Exit(exitUsage)
	case errors.Is(err, errLost):
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(exitLost)
	}
	fmt.Fprintln(os.Stderr, "agent:", err)
	os.Exit(exitFailed)
}

var errUsage = errors.New("usage")

func run(ctx context.Context, args []string) error {
	a := agent{out: os.Stdout, poll: 500 * time.Millisecond, client: client{http: newHTTPClient()}}
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&a.client.base, "base", "http://127.0.0.1:8090", "`address` of the platform")
	flags.StringVar(&a.client.session, "session", "", "the user's session `cookie`")
	flags.StringVar(&a.client.bearer, "token", "", "the user's bearer `token`, instead of a cookie")
	flags.Int64Var(&a.report, "report", 0, "the `report` to edit")
	flags.StringVar(&a.dir, "dir", "", "the `folder` of the document (default report-<number>)")
	flags.Int64Var(&a.template, "template", 1, "the `template` of a new session")
	flags.StringVar(&a.templatePath, "word", "templates/report.docx", "the `file` of the template")
	flags.BoolVar(&a.takeOver, "take-over", false, "replace a session that is active")
	flags.DurationVar(&a.heartbeat, "heartbeat", time.Minute, "`pause` between signs of life")
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	if a.report <= 0 || (a.client.session == "" && a.client.bearer == "") {
		fmt.Fprintln(os.Stderr, "agent: give --report, and --session or --token")
		flags.Usage()
		return errUsage
	}
	if a.dir == "" {
		a.dir = fmt.Sprintf("report-%d", a.report)
	}
	a.convert = converter(a.out)
	return a.run(ctx)
}
