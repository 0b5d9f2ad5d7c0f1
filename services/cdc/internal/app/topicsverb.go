package app

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
)

// maxPartitions protects against typing errors, because partitions cannot be removed.
const maxPartitions = 120

func topicsVerb(out io.Writer) cli.Verb {
	var partitions int
	return cli.Verb{
		Name:    "topics",
		Summary: "Give the data topics more partitions.",
		Args:    "grow",
		Details: "As many replicas of this service can share the work as there are partitions. They cannot be taken away again. Nothing\n" +
			"stops: consumers find the new partitions within a minute and read them from their first record.",
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&partitions, "partitions", 0, "how `many` each data topic has afterwards")
		},
		Run: withSettings(func(ctx context.Context, cfg Config, args []string) error {
			if len(args) != 1 || args[0] != "grow" || partitions < 1 || partitions > maxPartitions {
				return fmt.Errorf("%w: cdc topics grow --partitions N, N from 1 to %d", cli.ErrUsage, maxPartitions)
			}
			return broker.Grow(ctx, cfg.Kafka, cfg.Topics, int32(partitions), out)
		}),
	}
}
