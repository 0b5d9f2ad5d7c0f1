package install

import (
	"context"
	"io"

	"github.com/labplatform/labplatform/scripts/devstack/internal/distributions"
)

// Java says where the programs of the Java engines are.
type Java struct {
	Program       string // java
	Kafka         string // folder of the distribution; "" when no such engine is wanted
	Elasticsearch string // the same
}

// wantedDistributions lists what has to be at hand before the wanted engines can start.
func wantedDistributions(wanted Wanted) []distributions.Distribution {
	var list []distributions.Distribution
	if wanted.Kafka || wanted.Connect {
		list = append(list, distributions.Kafka())
	}
	if wanted.Elasticsearch {
		list = append(list, distributions.Elasticsearch())
	}
	return list
}

// missingForJava returns the Debian packages that the Java engines lack. Maven is wanted until all is fetched.
func missingForJava(wanted Wanted) []string {
	list := wantedDistributions(wanted)
	if len(list) == 0 {
		return nil
	}
	tools, err := distributions.FindTools()
	var missing []string
	if err != nil {
		missing = append(missing, "openjdk-17-jdk-headless")
	}
	for _, distribution := range list {
		if tools.Maven == "" && !distribution.Present(wanted.Distributions) {
			return append(missing, "maven")
		}
	}
	return missing
}

// FetchJava makes the distributions of the wanted engines available; call it after Packages. They are fetched one
// after the other: Maven's local repository has one writer.
func FetchJava(ctx context.Context, wanted Wanted, progress io.Writer) (Java, error) {
	list := wantedDistributions(wanted)
	if len(list) == 0 {
		return Java{}, nil
	}
	tools, err := distributions.FindTools()
	if err != nil {
		return Java{}, err
	}
	java := Java{Program: tools.Java}
	for _, distribution := range list {
		dir, err := distribution.Ensure(ctx, wanted.Distributions, tools, progress)
		if err != nil {
			return Java{}, err
		}
		if distribution.Name == "kafka" {
			java.Kafka = dir
		} else {
			java.Elasticsearch = dir
		}
	}
	return java, nil
}
