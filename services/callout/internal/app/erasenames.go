package app

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
)

// Verbs returns the operator commands of the service. They read their settings from environ and write to out.
func Verbs(environ []string, out io.Writer) []cli.Verb {
	return []cli.Verb{eraseNamesVerb(environ, out)}
}

func eraseNamesVerb(environ []string, out io.Writer) cli.Verb {
	var lab, patient int64
	return cli.Verb{
		Name:    "erase-names",
		Summary: "Remove the name of a patient from the stored callouts.",
		Details: "The audit keeps the names at the time of each call. Use this verb when the law demands the erasure of a patient's\n" +
			"name; the values, times and callers of the callouts stay. It can be repeated. The platform's core erases the name in\n" +
			"userDetails.",
		Flags: func(f *flag.FlagSet) {
			f.Int64Var(&lab, "lab", 0, "id of the laboratory, labs.id")
			f.Int64Var(&patient, "patient", 0, "id of the patient, userDetails.id")
		},
		Run: func(ctx context.Context, _ []string) error {
			if lab <= 0 || patient <= 0 {
				return fmt.Errorf("%w: erase-names -lab N -patient N", cli.ErrUsage)
			}
			cfg, err := Service.Load(environ)
			if err != nil {
				return err
			}
			return eraseNames(ctx, cfg, lab, patient, out)
		},
	}
}

func eraseNames(ctx context.Context, cfg Config, lab, patient int64, out io.Writer) error {
	scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
	if err != nil {
		return err
	}
	db, err := mysqldb.Open(cfg.DB, nil)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	store, err := mysql.New(db, clock.System{}, delivery.Messages{}, callout.Settings{})
	if err != nil {
		return err
	}
	n, err := store.EraseNames(ctx, scope, patient)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "removed the name of patient %d of laboratory %d from %d callouts\n", patient, lab, n)
	return err
}
