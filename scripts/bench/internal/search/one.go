package search

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	cdc "github.com/labplatform/labplatform/services/cdc/inprocess"
)

const (
	largeLaboratory = 3001
	largeSeed       = 4
	largeFirstID    = 10_000_000 // above the ids of all other patients
	largeRate       = 100        // searches a second
)

// oneLaboratory measures a laboratory that is larger than all others together, whose patients are all in one shard;
// then the same laboratory with twice as many patients.
func (b *bench) oneLaboratory(ctx context.Context) error {
	ours, plain := &side{name: "ours", find: b.ours.find}, &side{name: plainName, find: b.plain.find}
	var texts []relevance.Judgement
	metrics := []string{"one_laboratory_p99_ms", "one_laboratory_of_twice_as_many_p99_ms"}
	if b.report.Quick {
		metrics = metrics[:1]
	}
	for n, metric := range metrics {
		made, err := b.enlarge(ctx, n)
		if err != nil {
			return err
		}
		texts = append(texts, made...)
		searches, err := newMix(texts)
		if err != nil {
			return err
		}
		if err := b.measureLarge(ctx, metric, searches, []*side{ours, plain}); err != nil {
			return err
		}
	}
	return nil
}

// enlarge adds the nth part of the large laboratory's patients to the index and returns texts that search them.
func (b *bench) enlarge(ctx context.Context, n int) ([]relevance.Judgement, error) {
	begin := time.Now()
	c := &corpus{patients: relevance.Patients(largeSeed+uint64(n), b.sizes.large, largeLaboratory)}
	for i := range c.patients {
		c.patients[i].UserID += int64(largeFirstID * (n + 1))
	}
	texts := relevance.Texts(textsSeed, b.sizes.texts, c.patients)
	for _, p := range relevance.Patients(patientsSeed, b.sizes.texts, firstLaboratory) {
		texts = append(texts, relevance.Judgement{Kind: foreign, LabID: largeLaboratory, Text: p.LabPatientID})
	}
	for part := range slices.Chunk(c.patients, largePart) {
		if err := cdc.Write(ctx, b.client, (&corpus{patients: part}).rows()); err != nil {
			return nil, err
		}
	}
	if err := cdc.Fill(ctx, b.client, nil); err != nil {
		return nil, err
	}
	b.report.Progress("%d more patients of laboratory %d are searchable after %.1f s", b.sizes.large, largeLaboratory,
		time.Since(begin).Seconds())
	return texts, b.settle(ctx)
}

// largePart bounds the number of rows that are built at a time.
const largePart = 50_000

// gently is the number of searches that warm up a side one after the other.
const gently = 1000

func (b *bench) measureLarge(ctx context.Context, metric string, searches *mix, sides []*side) error {
	for _, s := range sides { // an engine that has just merged its segments cannot take the full rate at once
		for _, text := range searches.draw(0, gently) {
			if _, err := s.ask(ctx, text); err != nil {
				return err
			}
		}
	}
	p99s := series{}
	for round := range 1 + b.sizes.rounds { // the first one warms up
		for _, s := range sides {
			taken, err := atRate(ctx, searches.draw(uint64(round), int(b.sizes.span.Seconds()*largeRate)), largeRate, s.ask)
			if err != nil {
				return err
			}
			p50, p99 := quantile(taken, 50), quantile(taken, 99)
			b.report.Progress("%-12s %d searches at %d a second: p50 %.2f ms, p99 %.2f ms", s.name, len(taken), largeRate, p50, p99)
			if round > 0 {
				p99s[s] = append(p99s[s], p99)
			}
		}
		slices.Reverse(sides)
	}
	for _, s := range sides {
		b.report.Correct(fmt.Sprintf("%s_%s_answers_judged", metric, s.name), s.answered.Load())
	}
	ours := slices.IndexFunc(sides, func(s *side) bool { return s.name == "ours" })
	b.report.Lower(metric, "ms", p99s[sides[ours]], plainName, p99s[sides[1-ours]])
	return nil
}
