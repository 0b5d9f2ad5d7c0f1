package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// vitals are the metrics of a service about its process.
type vitals struct {
	Service            string
	Memory, Goroutines float64
	Files              float64 // open files
}

func (p *platform) vitals(ctx context.Context) (list []vitals) {
	for _, service := range p.services {
		text, err := p.fetch(ctx, p.adminURL(service)+"/metrics")
		if err != nil {
			continue
		}
		list = append(list, vitals{service, metric(text, "process_resident_memory_bytes"), metric(text, "go_goroutines"),
			metric(text, "process_open_fds")})
	}
	slices.SortFunc(list, func(a, b vitals) int { return strings.Compare(a.Service, b.Service) })
	return list
}

// deadLetters returns the number of changes that the running change capture could not process.
func (p *platform) deadLetters(ctx context.Context) float64 {
	text, err := p.fetch(ctx, p.adminURL("cdc")+"/metrics")
	if err != nil {
		return 0
	}
	return metric(text, "cdc_messages_dlq_total")
}

// metric returns the sum of the series of a metric in the text of /metrics.
func metric(text, name string) (sum float64) {
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if series, _, _ = strings.Cut(series, "{"); series == name {
			number, _ := strconv.ParseFloat(value, 64)
			sum += number
		}
	}
	return sum
}
