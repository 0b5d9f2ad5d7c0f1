// Command chaos runs a platform of its own, simulates the work of the demo laboratory on it, injects faults, and checks
// that every acknowledged change takes effect. make chaos MINUTES=10 SEED=1 FAULTS=kill-engine,silent
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/labplatform/labplatform/scripts/e2e/page"
)

func main() { os.Exit(command()) }

func command() int {
	o := options{out: os.Stdout, charts: "charts"}
	flag.Float64Var(&o.minutes, "minutes", 10, "how long things are broken")
	flag.Uint64Var(&o.seed, "seed", 1, "of what is drawn: patients, faults and their targets")
	flag.StringVar(&o.faults, "faults", "all", "names with commas between, or all")
	flag.IntVar(&o.patients, "patients", 0, "from earlier days: nothing is broken then, and what grows is measured")
	flag.BoolVar(&o.quiet, "quiet", false, "nothing is broken and almost nothing happens: the platform must stay well")
	pageFile := flag.String("page", "", "write the figures to their part of this page")
	flag.Usage = usage
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	r, err := perform(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	f, err := r.publish(*pageFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	for _, v := range f.Violations {
		fmt.Println("violated:", v)
	}
	fmt.Printf("%d faults; %d promises, %d kept, %d late; %d violations\n", f.Faults, f.Promised, f.Kept, f.Late, len(f.Violations))
	return min(len(f.Violations), 1)
}

// publish writes the figures of the run into their part of the page, if the page has one, and prints those of a quiet
// run.
func (r *run) publish(file string) (figures, error) {
	switch {
	case r.quiet:
		f := r.quietFigures()
		text, err := page.Text("quiet", quietText, f)
		fmt.Fprintln(r.out, text)
		return f.figures, errors.Join(err, write(file, "quiet", quietText, f))
	case r.patients > 0:
		f := r.soakFigures()
		return f.figures, write(file, "soak", soakText, f)
	default:
		f := r.figures()
		return f, write(file, "chaos", pageText, f)
	}
}

func write(file, part, text string, figures any) error {
	if file == "" {
		return nil
	}
	return page.Write(file, part, text, figures)
}

func usage() {
	out := flag.CommandLine.Output()
	fmt.Fprintln(out, "chaos breaks a platform of its own while a laboratory works on it, and judges the outcome of everything acknowledged.")
	fmt.Fprintln(out, "It prints a line for each fault and for each violation, and ends with 1 if there was any.")
	flag.PrintDefaults()
	fmt.Fprintln(out, "faults:")
	for _, c := range classes {
		fmt.Fprintf(out, "  %-15s %s\n", c.name, c.says)
	}
}
