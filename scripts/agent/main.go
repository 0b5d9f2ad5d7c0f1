// Command agent plays the desktop application of external editing on the command line: it opens a session, downloads
// the document, and whenever that is saved, converts it to PDF and uploads both, until Ctrl-C ends the session.
package main

import (
	"context"
	"crypto/rand"
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
	exitFailed  = 1
	exitUsage   = 2
	exitLost    = 3 // someone took the session over, or saved since; the document is kept
	exitUnsaved = 4 // the last save was refused or never answered; the document and the journal are kept
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait: the journal is in order at any time
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil:
		return
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errUsage):
		os.Exit(exitUsage)
	}
	fmt.Fprintln(os.Stderr, "agent:", err)
	switch {
	case errors.Is(err, errLost):
		os.Exit(exitLost)
	case errors.Is(err, errNotSaved):
		os.Exit(exitUnsaved)
	}
	os.Exit(exitFailed)
}

// Where the user's credential comes from: a command line is seen by everybody on the machine.
const (
	sessionVariable = "LAB_SESSION"
	tokenVariable   = "LAB_TOKEN"
)

// lastSaveTimeout is how long Ctrl-C waits for the last save.
const lastSaveTimeout = 2 * time.Minute

var errUsage = errors.New("usage")

func run(ctx context.Context, args []string) error {
	c := client{http: newHTTPClient(), session: os.Getenv(sessionVariable), bearer: os.Getenv(tokenVariable)}
	a := agent{out: os.Stdout, poll: 500 * time.Millisecond, patience: lastSaveTimeout, newKey: rand.Text}
	var dir string
	var standIn bool
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&c.base, "base", "http://127.0.0.1:8090", "`address` of the platform")
	flags.Int64Var(&a.report, "report", 0, "the `report` to edit")
	flags.StringVar(&dir, "dir", "", "the `folder` of the document (default report-<number>)")
	flags.Int64Var(&a.creation.TemplateID, "template", 1, "the `template` of a new session")
	flags.StringVar(&a.creation.Path, "word", "templates/report.docx", "the `file` of the template")
	flags.BoolVar(&a.creation.TakeOver, "take-over", false, "replace a session that is active")
	flags.DurationVar(&a.beats, "heartbeat", time.Minute, "`pause` between signs of life")
	flags.BoolVar(&standIn, "stand-in-pdf", false, "without LibreOffice, upload a page that says so as the PDF")
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	if a.report <= 0 || (c.session == "" && c.bearer == "") {
		fmt.Fprintf(os.Stderr, "agent: give --report, and in the environment %s (the session cookie) or %s (a bearer token)\n",
			sessionVariable, tokenVariable)
		flags.Usage()
		return errUsage
	}
	if dir == "" {
		dir = fmt.Sprintf("report-%d", a.report)
	}
	var err error
	if a.convert, err = converter(standIn); err != nil {
		return err
	}
	a.platform, a.disk = c, folder{dir}
	return a.run(ctx)
}
