package install

import (
	"context"
	"io"

	"github.com/labplatform/labplatform/scripts/devstack/internal/distributions"
)

// Java is where the programs of the Java engines are.
type Java struct {
	Program       string // path of java
	Kafka         string // folder of the distribution; "" when not wanted
	Elasticsearch string // folder of the distribution; "" when not wanted
}

// wantedDistributions returns the distributions that the wanted engines need.
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

// missingForJava returns the Debian packages that the Java engines still need. Maven is needed until all distributions
// are built.
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

// FetchJava makes the distributions of the wanted engines available. Call Packages first. Distributions are fetched one
// at a time, because Maven's local repository supports one writer.
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
