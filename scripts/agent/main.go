// Command agent is the desktop client of external editing: it opens a session, downloads the document, converts each
// save of it to PDF and uploads both, until Ctrl-C ends the session.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// Exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitLost    = 3 // another user has the session or has saved since; the document is kept
	exitUnsaved = 4 // the last save was refused or not acknowledged, or the login ended; document and journal are kept
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals...)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		os.Exit(exitUsage)
	}
	fmt.Fprintln(os.Stderr, "agent:", err)
	switch {
	case errors.Is(err, errLost), errors.Is(err, errExpired):
		os.Exit(exitLost)
	case errors.Is(err, errNotSaved), errors.Is(err, errLoggedOut):
		os.Exit(exitUnsaved)
	}
	os.Exit(exitFailed)
}

// Environment variables with the user's credential: every user of the machine can read a command line.
const (
	sessionVariable = "LAB_SESSION"
	tokenVariable   = "LAB_TOKEN"
)

// lastSaveTimeout limits the last save after Ctrl-C. Together with the end of the session it takes less than ten
// seconds.
const lastSaveTimeout = 7 * time.Second

var errUsage = errors.New("usage")

const help = `agent edits a report of the laboratory in a word processor: it puts the document into a folder, converts every
save with LibreOffice and sends both files to the platform, until Ctrl-C ends the session.

  LAB_SESSION=<session cookie> agent --base https://lab.example.org --report 7001

The credential comes from the environment: LAB_SESSION (the value of the cookie sessionid) or LAB_TOKEN (a bearer
token).
A save that could not be sent stays in the folder and is sent when the same command is started again.

`

func run(ctx context.Context, args []string) error {
	c := client{http: newHTTPClient(), session: os.Getenv(sessionVariable), bearer: os.Getenv(tokenVariable)}
	a := agent{out: os.Stdout, poll: 500 * time.Millisecond, patience: lastSaveTimeout, newKey: rand.Text,
		check: checkDocument}
	var dir, soffice, tracked string
	var standIn bool
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	flags.StringVar(&c.base, "base", "http://127.0.0.1:8090", "`address` of the platform")
	flags.Int64Var(&a.report, "report", 0, "the `report` to edit")
	flags.StringVar(&dir, "dir", "", "the `folder` of the document (default report-<number>)")
	flags.Int64Var(&a.creation.TemplateID, "template", 0,
		"the `template` of a report without a save (default the only one; without it the agent lists them)")
	flags.BoolVar(&a.creation.TakeOver, "take-over", false, "replace a session that is active")
	flags.DurationVar(&a.beats, "heartbeat", time.Minute, "`pause` between signs of life")
	flags.StringVar(&tracked, "tracked-changes", "refuse",
		"what to do with changes that are neither accepted nor rejected: `refuse`, or final: the PDF shows what remains when"+
			" all are accepted")
	flags.StringVar(&soffice, "soffice", "", "`program` of LibreOffice, when it is installed in an unusual place")
	flags.BoolVar(&standIn, "stand-in-pdf", false, "without LibreOffice, upload a placeholder page as the PDF")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if a.report <= 0 || (c.session == "" && c.bearer == "") || (tracked != "refuse" && tracked != "final") {
		fmt.Fprintf(os.Stderr, "agent: give --report, and in the environment %s (the session cookie) or %s (a bearer token);"+
			" --tracked-changes is refuse or final\n", sessionVariable, tokenVariable)
		flags.Usage()
		return errUsage
	}
	if dir == "" {
		dir = fmt.Sprintf("report-%d", a.report)
	}
	a.final = tracked == "final"
	var err error
	if a.slots, err = userSlots(); err != nil {
		return err
	}
	if a.convert, err = converter(soffice, standIn); err != nil {
		return err
	}
	c.warn = a.warn
	a.platform, a.disk = c, folder{dir}
	return a.run(ctx)
}

// converter returns LibreOffice, or the stand-in page if there is none and the user allows it.
func converter(soffice string, mayStandIn bool) (func(context.Context, slot, string) error, error) {
	found, err := findLibreOffice(soffice)
	switch {
	case err == nil:
		return libreOffice{found, convertTimeout, newFamily}.convert, nil
	case mayStandIn && soffice == "":
		return standIn, nil
	}
	return nil, err
}
