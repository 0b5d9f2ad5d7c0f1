// Package cli implements the command line of every binary: verbs, --help, exit codes, and a clean stop on
// SIGINT and SIGTERM.
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

// Verb is a subcommand of a binary.
type Verb struct {
	Name    string
	Summary string // description in one line
	Details string // shown by VERB --help, after the summary
	Args    string // positional arguments, for the usage line; if empty, the verb accepts none
	// Flags registers the verb's flags; nil if it has none.
	Flags func(*flag.FlagSet)
	// Run executes the verb and returns when ctx ends. args are the arguments after the flags.
	Run func(ctx context.Context, args []string) error
}

// Program is a binary with its verbs.
type Program struct {
	Name    string
	Summary string
	Verbs   []Verb
}

// ErrUsage makes the program exit with 2 and refer to --help when a verb's error wraps it.
var ErrUsage = errors.New("usage")

// Main runs the verb that the arguments name and returns the exit code: 0 success, 1 failure, 2 wrong usage.
// The first SIGINT or SIGTERM cancels the verb's context, the second one kills the process.
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
	plain, err := parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case v.Args == "" && len(plain) > 0: // otherwise "rebuild rollback" would start a rebuild
		fmt.Fprintf(
			stderr,
			"%s %s: usage: unexpected argument %q; see %s %s --help\n",
			p.Name,
			v.Name,
			plain[0],
			p.Name,
			v.Name,
		)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // stop catching signals: the second one kills the process
	switch err := v.Run(ctx, plain); {
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

// parse reads flags wherever they stand, as in "topics grow --partitions 12", and returns the other arguments. Behind
// "--" all are arguments.
func parse(flags *flag.FlagSet, args []string) (plain []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if read := len(args) - len(rest); len(rest) == 0 || read > 0 && args[read-1] == "--" {
			return append(plain, rest...), nil
		}
		plain, args = append(plain, rest[0]), rest[1:]
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
	fmt.Fprintf(w, "\n%s VERB --help shows its flags.\n", p.Name)
}
