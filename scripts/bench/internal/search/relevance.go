package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// Relevance measures the rank of the expected patient, on several sets of texts.
func Relevance(ctx context.Context, r *report.Report) error {
	return with(ctx, r, func(b *bench) error {
		ours, peer, plain := places{side: b.ours}, places{side: b.peer}, places{side: b.plain}
		texts := 0
		for set := range b.sizes.rounds {
			judgements := b.corpus.judgements(textsSeed + uint64(set))
			texts += len(judgements)
			for _, one := range []*places{&ours, &peer, &plain} {
				if err := one.measure(ctx, r, judgements); err != nil {
					return err
				}
			}
		}
		handOurs, handPeer, handPlain := places{side: b.ours}, places{side: b.peer}, places{side: b.plain}
		for _, one := range []*places{&handOurs, &handPeer, &handPlain} {
			if err := one.measureHand(ctx, r, b.corpus.handTexts); err != nil {
				return err
			}
		}
		negatives, err := b.negatives(ctx)
		if err != nil {
			return err
		}
		ours.alien += handOurs.alien
		r.Correct("texts", texts)
		r.Correct("texts_by_hand", len(b.corpus.handTexts))
		r.Correct("cross_lab_hits_of_peers", peer.alien+plain.alien)
		if ours.alien > 0 {
			return fmt.Errorf("%d hits are of another laboratory", ours.alien)
		}
		r.Higher("mrr", "", ours.mrr, peerName, peer.mrr)
		r.Higher("recall_at_10", "", ours.recall, peerName, peer.recall)
		r.Higher("mrr_beside_plain", "", ours.mrr, plainName, plain.mrr)
		r.Higher("mrr_by_hand", "", handOurs.mrr, peerName, handPeer.mrr)
		r.Higher("mrr_by_hand_beside_plain", "", handOurs.mrr, plainName, handPlain.mrr)
		r.Higher("recall_at_10_by_hand", "", handOurs.recall, peerName, handPeer.recall)
		r.Lower("negatives_found_percent", "%", []float64{negatives}, "", nil)
		r.Lower("cross_lab_hits", "", append(ours.aliens, handOurs.aliens...), "", nil)
		return nil
	})
}

// negatives returns the percentage of texts without a matching patient for which our side finds one.
func (b *bench) negatives(ctx context.Context) (float64, error) {
	texts := relevance.NoMatches()
	found := map[*side]int{}
	for _, text := range texts {
		for _, one := range []*side{b.ours, b.peer, b.plain} {
			hits, err := one.find(ctx, handLaboratory, text)
			if err != nil {
				return 0, err
			}
			if len(hits) > 0 {
				found[one]++
			}
		}
	}
	b.report.Progress("of %d texts that no one answers to, %d find someone; with %s %d, with %s %d", len(texts), found[b.ours],
		peerName, found[b.peer], plainName, found[b.plain])
	return 100 * float64(found[b.ours]) / float64(len(texts)), nil
}

// measureHand leaves texts in other scripts out of the figures, but prints them and includes their hits of other
// laboratories.
func (p *places) measureHand(ctx context.Context, r *report.Report, texts []relevance.Judgement) error {
	scripts := slices.DeleteFunc(
		slices.Clone(texts),
		func(j relevance.Judgement) bool { return j.Kind != relevance.Script },
	)
	apart := places{side: p.side}
	if err := apart.measure(ctx, r, scripts); err != nil {
		return err
	}
	p.alien = apart.alien
	return p.measure(
		ctx,
		r,
		slices.DeleteFunc(slices.Clone(texts), func(j relevance.Judgement) bool { return j.Kind == relevance.Script }),
	)
}

// places holds the ranks of one side, one figure per set of texts.
type places struct {
	side                *side
	mrr, recall, aliens []float64
	alien               int
}

func (p *places) measure(ctx context.Context, r *report.Report, judgements []relevance.Judgement) error {
	figures, err := relevance.Measure(judgements, func(j relevance.Judgement) ([]relevance.Hit, error) {
		found, err := p.side.find(ctx, j.LabID, j.Text)
		var hits []relevance.Hit
		for _, h := range found {
			hits = append(hits, relevance.Hit(h))
		}
		return hits, err
	})
	if err != nil {
		return err
	}
	r.Progress("%s, %d texts", p.side.name, len(judgements))
	for line := range strings.Lines(relevance.Table(figures)) {
		r.Progress("  %s", strings.TrimRight(line, "\n"))
	}
	all := figures[len(figures)-1]
	p.mrr, p.recall, p.aliens = append(p.mrr, all.MRR), append(p.recall, all.Recall), append(p.aliens, float64(all.Alien))
	p.alien += all.Alien
	return nil
}
