// Package cli owns the command line of every binary: verbs, a --help that is enough, exit codes and the
// stop on SIGINT and SIGTERM.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Verb is one thing that a binary does.
type Verb struct {
	Name    string
	Summary string // one line
	Details string // shown by VERB --help, after the summary
	Args    string // what follows the flags, for the usage line; a verb without it takes nothing
	// Flags adds the verb's flags, nil when it has none.
	Flags func(*flag.FlagSet)
	// Run does the work until ctx ends. args are what follows the flags.
	Run func(ctx context.Context, args []string) error
}

// Program is a binary.
type Program struct {
	Name    string
	Summary string
	Verbs   []Verb
}

// ErrUsage makes the program exit with 2 and point at --help.
var ErrUsage = errors.New("usage")

// Main runs the verb that the arguments name and returns the exit code: 0 success, 1 failure, 2 wrong usage.
// The first SIGINT or SIGTERM ends the verb's context, the second one ends the process.
func (p Program) Main(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		p.usage(stdout)
		if len(args) == 0 {
			return 2
		}
		return 0
	}
	for _, v := range p.Verbs {
		if v.Name == args[0] {
			return p.run(v, args[1:], stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "%s: unknown verb %q; see %s --help\n", p.Name, args[0], p.Name)
	return 2
}

func (p Program) run(v Verb, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	if v.Flags != nil {
		v.Flags(flags)
	}
	flags.Usage = func() {
		flags.SetOutput(stdout)
		fmt.Fprintf(stdout, "usage: %s\n\n%s\n", strings.Join(p.synopsis(v), " "), v.Summary)
		if v.Details != "" {
			fmt.Fprintf(stdout, "\n%s\n", v.Details)
		}
		if v.Flags != nil {
			fmt.Fprintln(stdout, "\nFlags:")
			flags.PrintDefaults()
		}
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case v.Args == "" && flags.NArg() > 0: // rebuild rollback must not rebuild
		fmt.Fprintf(
			stderr,
			"%s %s: usage: %q is one word too many; see %s %s --help\n",
			p.Name,
			v.Name,
			flags.Arg(0),
			p.Name,
			v.Name,
		)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal is not caught any more
	switch err := v.Run(ctx, flags.Args()); {
	case err == nil:
		return 0
	case errors.Is(err, ErrUsage):
		fmt.Fprintf(stderr, "%s %s: %v; see %s %s --help\n", p.Name, v.Name, err, p.Name, v.Name)
		return 2
	default:
		fmt.Fprintf(stderr, "%s %s: %v\n", p.Name, v.Name, err)
		return 1
	}
}

func (p Program) synopsis(v Verb) []string {
	words := []string{p.Name, v.Name}
	if v.Flags != nil {
		words = append(words, "[flags]")
	}
	if v.Args != "" {
		words = append(words, v.Args)
	}
	return words
}

func (p Program) usage(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n\nusage: %s VERB [flags]\n\nVerbs:\n", p.Name, p.Summary, p.Name)
	for _, v := range p.Verbs {
		fmt.Fprintf(w, "  %-14s %s\n", v.Name, v.Summary)
	}
	fmt.Fprintf(w, "\n%s VERB --help tells more.\n", p.Name)
}
