package cdc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/lab/phonetic"
	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
)

// peer is the plain loop: sarama's group with its defaults, encoding/json, and for each event its statements and its
// index call at once. It has a goroutine for each partition, as sarama provides, and enough connections for all.
type peer struct {
	b     *bench
	share int64

	begin   atomic.Int64 // unix nanoseconds
	done    atomic.Int64
	quota   int64
	stop    context.CancelCauseFunc
	mu      sync.Mutex
	indexed map[int64]bool // guarded by mu; patients
}

var _ sarama.ConsumerGroupHandler = (*peer)(nil)

var errDone = errors.New("every partition has its share done")

// peer runs the loop over the first events of every partition, one in share: the same mix, at a rate that does not
// depend on their number.
func (b *bench) peer(ctx context.Context, cost *spent) (float64, error) {
	if err := b.reset(ctx, peerGroup); err != nil {
		return 0, err
	}
	p := &peer{b: b, share: int64(b.sizes.share), indexed: map[int64]bool{}}
	if err := b.broker.each(func(_ string, _ int32, events int64) error {
		p.quota += events / p.share
		return nil
	}); err != nil {
		return 0, err
	}
	m, err := b.meter(os.Getpid(), false)
	if err != nil {
		return 0, err
	}
	if err := p.run(ctx); err != nil {
		return 0, err
	}
	took := time.Since(time.Unix(0, p.begin.Load()))
	if err := m.stop(cost, p.quota); err != nil {
		return 0, err
	}
	b.report.Progress("peer: %d events in %.1f s", p.quota, took.Seconds())
	b.report.Correct("peer_events", p.quota)
	return float64(p.quota) / took.Seconds(), p.right(ctx)
}

func (p *peer) run(ctx context.Context) error {
	members, err := sarama.NewConsumerGroup(p.b.broker.addresses, peerGroup, settings())
	if err != nil {
		return err
	}
	defer func() { _ = members.Close() }()
	ctx, p.stop = context.WithCancelCause(ctx)
	defer p.stop(nil)
	var topics []string
	for _, table := range tables() {
		topics = append(topics, p.b.broker.prefix+table)
	}
	if err := members.Consume(ctx, topics, p); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errDone) {
		return fmt.Errorf("peer: %w", cause)
	}
	return nil
}

func (p *peer) Setup(sarama.ConsumerGroupSession) error {
	p.begin.Store(time.Now().UnixNano())
	return nil
}

func (p *peer) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (p *peer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	events, err := p.b.broker.client.GetOffset(claim.Topic(), claim.Partition(), sarama.OffsetNewest)
	if err != nil {
		return err
	}
	for left := events / p.share; left > 0; left-- {
		message, ok := <-claim.Messages()
		if !ok {
			return nil
		}
		if err := p.handle(session.Context(), message); err != nil {
			p.stop(err)
			return err
		}
		session.MarkMessage(message, "")
		if p.done.Add(1) == p.quota {
			p.stop(errDone)
		}
	}
	<-session.Context().Done() // the session of all partitions ends when one claim returns early
	return nil
}

func (p *peer) handle(ctx context.Context, message *sarama.ConsumerMessage) error {
	if message.Value == nil {
		return nil
	}
	var envelope map[string]any
	if err := json.Unmarshal(message.Value, &envelope); err != nil {
		return err
	}
	after, ok := envelope["after"].(map[string]any)
	if !ok {
		return errors.New("an event without its row")
	}
	switch table := message.Topic[strings.LastIndexByte(message.Topic, '.')+1:]; table {
	case "user_meta":
		return p.index(ctx, after)
	case "userDetails":
		return p.b.project(ctx, int64(after["id"].(float64)))
	default:
		return p.b.project(ctx, int64(after["userDetailsId_id"].(float64)))
	}
}

// index writes one document; stubs are skipped.
func (p *peer) index(ctx context.Context, row map[string]any) error {
	rev := int64(row["rev"].(float64))
	if rev == 0 {
		return nil
	}
	body, err := json.Marshal(documentOf(row))
	if err != nil {
		return err
	}
	id, lab := int64(row["user_id"].(float64)), int64(row["lab_id"].(float64))
	p.mu.Lock()
	p.indexed[id] = true
	p.mu.Unlock()
	return p.b.index.do(
		ctx,
		http.MethodPut,
		fmt.Sprintf("%s/_doc/%d?routing=%d&version=%d&version_type=external_gte", alias, id, lab, 2*rev+1),
		body,
		nil,
	)
}

// documentOf converts an image of user_meta into its document.
func documentOf(row map[string]any) map[string]any {
	document := maps.Clone(row)
	delete(document, "source_ts_ms")
	document["is_deleted"] = row["is_deleted"] != 0.0
	document["full_name_sounds"] = phonetic.Codes(row["full_name"].(string))
	for field, value := range document {
		text, isText := value.(string)
		switch {
		case value == nil || value == "":
			delete(document, field)
		case isText && (strings.HasSuffix(field, "_ids") || field == "order_numbers"):
			document[field] = json.RawMessage(strings.ToUpper(text))
		case field == "date_of_birth":
			document[field] = strings.TrimSuffix(text, "Z")
		}
	}
	return document
}

// right checks the peer's results: its rows follow from the tables, and every patient of its events has a document.
func (p *peer) right(ctx context.Context) error {
	stored, err := oracletest.Stored(ctx, p.b.db)
	if err != nil {
		return err
	}
	if err := equal("user_meta by the peer", p.b.expected, stored, false); err != nil {
		return err
	}
	indexed, err := p.b.index.documents(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, patients := range indexed {
		found += len(slices.Collect(maps.Keys(patients)))
	}
	if found != len(p.indexed) {
		return fmt.Errorf("the peer's index holds %d of %d patients", found, len(p.indexed))
	}
	return nil
}
