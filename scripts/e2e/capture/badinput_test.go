package capture

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// letter is the expected dead letter of a message: its content, with its origin as headers.
type letter struct {
	topic, key, value string
	headers           map[string]string
}

// TestBadInputIsALetterOrSkippedAndBlocksNothing sends messages into the topics that a connector never or very rarely
// sends. Each must become a dead letter or be skipped, without delaying other messages.
func TestBadInputIsALetterOrSkippedAndBlocksNothing(t *testing.T) {
	db := database(t)
	const patient, bill = 910_001, 9_100_010
	for _, statement := range []string{
		fmt.Sprintf("REPLACE INTO userDetails (id, labId_id, fullName) VALUES (%d, 12, 'Ada Before')", patient),
		fmt.Sprintf("REPLACE INTO billing (id, labId_id, labBillId, userDetailsId_id) VALUES (%d, 12, %d, %d)", bill, bill, patient)} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	p := &producer{t: t, SyncProducer: newProducer(t)}
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	await.Nil(t, "readiness of the consumer", func() error { _, err := fetch(http.MethodGet, cdc.http+"/ready", ""); return err })
	before := outcomes(t, cdc)
	key := fmt.Sprintf(`{"id":%d}`, patient)
	image := fmt.Sprintf(`{"id":%d,"labId_id":12}`, patient)
	dead := []letter{
		p.send("userDetails", key, `{"op":"u","after":{`),
		p.send("userDetails", key, `[1,2]`),
		p.send("billing", key, "{\"op\":\"u\",\"after\":{\"id\":1,\"orderNumber\":\"\xff\"}}"),
		p.send("labReportRelation", key, `{"op":"d","before":null,"after":null}`),
		p.send("billing", key, `{"op":"c","after":{"id":"seven","userDetailsId_id":1}}`),
		p.send("user_meta", `{"user_id":910001}`, `{"op":"c","after":{"user_id":910001,"lab_id":12,"rev":"tomorrow"}}`),
		p.send("user_meta", `{"user_id":910002}`, `{"op":"c","after":{"user_id":910002,"lab_id":12,"rev":5,"date_of_birth":"2024-02-30Z","is_deleted":0}}`),
	}
	skipped := []letter{
		p.send("userDetails", key, `{"op":"x","after":`+image+`}`),
		p.send("userDetails", "", `{"op":"m","message":{}}`),
		p.send("userDetails", key, ""),
	}
	applied := []letter{
		p.send("userDetails", key, `{"schema":{"type":"struct"},"payload":{"op":"u","before":null,"after":`+image+`}}`),
		p.send("userDetails", key, `{"op":"u","before":null,"after":{"id":910001,"labId_id":12,"fullName":"`+strings.Repeat("x", 1<<20)+`"}}`),
		p.send("billing", fmt.Sprintf(`{"id":%d}`, bill), fmt.Sprintf(`{"op":"r","after":{"id":%d,"labId_id":12,"userDetailsId_id":%d,"billTotalAmount":"99999999999999999999999.99","billTime":null}}`, bill, patient)),
	}
	for _, statement := range []string{
		fmt.Sprintf("UPDATE userDetails SET dateOfBirth='0000-00-00', fullName='Ada After' WHERE id=%d", patient),
		"INSERT INTO cdc_signal (id, type, data) VALUES ('not-captured', 'execute-snapshot', '{\"data-collections\":[\"lab.labs\"],\"type\":\"incremental\"}')",
		"INSERT INTO cdc_signal (id, type, data) VALUES ('no-json', 'execute-snapshot', '{\"data-coll')"} {
		if err := onOneConnection(db, statement); err != nil {
			t.Fatal(err)
		}
	}
	await.Nil(t, "the good row behind all the bad ones", func() error {
		text, err := fetch(http.MethodGet, platform.Endpoints.Elasticsearch+"/user_details/_doc/910001?routing=12", "")
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("Ada After")) || bytes.Contains(text, []byte("date_of_birth")) {
			return fmt.Errorf("the document says %s", text)
		}
		return nil
	})
	await.Nil(t, "one outcome for each message", func() error {
		lag, err := uncommitted()
		now := outcomes(t, cdc)
		if err != nil || lag != 0 || now["dead"]-before["dead"] != float64(len(dead)) {
			return errors.Join(err, fmt.Errorf("lag %d, %.0f dead, %.0f unknown operations", lag, now["dead"]-before["dead"], now["unknown_op"]-before["unknown_op"]))
		}
		return nil
	})
	now := outcomes(t, cdc)
	if got := now["skipped"] - before["skipped"]; got < float64(len(skipped)) {
		t.Errorf("%.0f skipped, want at least %d", got, len(skipped))
	}
	if now["failed"]-before["failed"] != float64(len(dead)) {
		t.Errorf("%.0f failed, want %d", now["failed"]-before["failed"], len(dead))
	}
	checkLetters(t, dead, append(skipped, applied...))
	if out, err := verb(t, "replay-dlq"); err != nil || !strings.Contains(out, "patients written") {
		t.Errorf("replay: %v\n%s", err, out)
	} else {
		t.Log(out)
	}
	if out, err := verb(t, "reconcile", "--wait", "30s"); err != nil || !strings.Contains(out, " 0 differences") {
		t.Errorf("reconcile: %v\n%s", err, out)
	}
}

// outcomes returns the sums of the consumer's counters by kind, and by some reasons.
func outcomes(t *testing.T, c *consumer) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	values, err := c.metrics("cdc_outcomes_total")
	if err != nil {
		t.Fatal(err)
	}
	for labels, v := range values {
		for _, kind := range []string{"dead", "skipped", "applied"} {
			if strings.Contains(labels, `outcome="`+kind+`"`) {
				all[kind] += v
			}
		}
	}
	failed, err := c.metrics("cdc_messages_failed_total")
	if err != nil {
		t.Fatal(err)
	}
	all["failed"] = sum(failed)
	reasons, err := c.metrics("cdc_skipped_total")
	if err != nil {
		t.Fatal(err)
	}
	all["unknown_op"] = reasons[`reason="unknown_op"`]
	return all
}

type producer struct {
	sarama.SyncProducer
	t *testing.T
}

func newProducer(t *testing.T) sarama.SyncProducer {
	t.Helper()
	settings := sarama.NewConfig()
	settings.Producer.Return.Successes = true
	settings.Producer.MaxMessageBytes = 8 << 20
	settings.Producer.Partitioner = sarama.NewMurmur2Partitioner
	p, err := sarama.NewSyncProducer(platform.Endpoints.KafkaBrokers, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// send produces a message; "" means that the key or value is missing.
func (p *producer) send(table, key, value string) letter {
	p.t.Helper()
	l := letter{topic: platform.Endpoints.TopicPrefix + "." + table, key: key, value: value}
	message := &sarama.ProducerMessage{Topic: l.topic}
	if key != "" {
		message.Key = sarama.StringEncoder(key)
	}
	if value != "" {
		message.Value = sarama.StringEncoder(value)
	}
	partition, offset, err := p.SendMessage(message)
	if err != nil {
		p.t.Fatal(err)
	}
	l.headers = map[string]string{"original.topic": l.topic, "original.partition": fmt.Sprint(partition), "original.offset": fmt.Sprint(offset)}
	return l
}

// checkLetters expects an identical dead letter for each message in dead, and none for those in others.
func checkLetters(t *testing.T, dead, others []letter) {
	t.Helper()
	found := map[string]*sarama.ConsumerMessage{}
	for _, m := range readTopic(t, "cdc.dead-letter-queue") {
		found[origin(headers(m))] = m
	}
	for _, want := range dead {
		m := found[origin(want.headers)]
		if m == nil {
			t.Errorf("no letter of %v", want.headers)
			continue
		}
		got := headers(m)
		if string(m.Key) != want.key || string(m.Value) != want.value || got["error"] == "" || got["__connect.errors.topic"] != want.topic {
			t.Errorf("letter of %v: key %q, value %q, headers %v", want.headers, m.Key, m.Value, got)
		}
	}
	for _, one := range others {
		if found[origin(one.headers)] != nil {
			t.Errorf("a letter of %v", one.headers)
		}
	}
}

func origin(h map[string]string) string {
	return h["original.topic"] + "/" + h["original.partition"] + "/" + h["original.offset"]
}

func headers(m *sarama.ConsumerMessage) map[string]string {
	all := map[string]string{}
	for _, h := range m.Headers {
		all[string(h.Key)] = string(h.Value)
	}
	return all
}

// readTopic returns all messages that the topic currently has.
func readTopic(t *testing.T, topic string) []*sarama.ConsumerMessage {
	t.Helper()
	client, err := sarama.NewClient(platform.Endpoints.KafkaBrokers, sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	partitions, err := client.Partitions(topic)
	if err != nil {
		t.Fatal(err)
	}
	var all []*sarama.ConsumerMessage
	for _, p := range partitions {
		first, errFirst := client.GetOffset(topic, p, sarama.OffsetOldest)
		end, errEnd := client.GetOffset(topic, p, sarama.OffsetNewest)
		if errFirst != nil || errEnd != nil {
			t.Fatal(errFirst, errEnd)
		}
		if first == end {
			continue
		}
		reader, err := c.ConsumePartition(topic, p, first)
		if err != nil {
			t.Fatal(err)
		}
		for m := range reader.Messages() {
			all = append(all, m)
			if m.Offset == end-1 {
				break
			}
		}
		_ = reader.Close()
	}
	return all
}
