// Command gateway is the REST edge of the laboratory platform.
package main

import (
	"context"
	"os"

	"github.com/labplatform/labplatform/gateway/internal/app"
	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(command.Program{
		Name:    "gateway",
		Summary: "the REST edge of the laboratory platform",
		Verbs: []command.Verb{
			{
				Name: "serve", Summary: "Serves the public, internal and administration listeners until SIGTERM.",
				Details: "Settings are read from GATEWAY_* variables; gateway print-config lists them.",
				Run: func(ctx context.Context, _ []string) error {
					cfg, err := app.Load(os.Environ())
					if err != nil {
						return err
					}
					return app.Run(ctx, cfg, version, os.Environ(), os.Stderr)
				},
			},
			{
				Name: "print-config", Summary: "Prints every setting and its present value; secrets are masked.",
				Run: func(context.Context, []string) error {
					cfg, err := app.Load(os.Environ())
					if printErr := config.Print(os.Stdout, app.Prefix, &cfg); printErr != nil {
						return printErr
					}
					return err
				},
			},
			{
				Name: "healthcheck", Summary: "Exits 0 when the gateway on this machine is ready.",
				Run: func(ctx context.Context, _ []string) error {
					cfg, err := app.Load(os.Environ())
					if err != nil {
						return err
					}
					return httpserver.CheckReady(ctx, cfg.Admin.AdminPort)
				},
			},
		},
	}.Main(os.Args[1:], os.Stdout, os.Stderr))
}
