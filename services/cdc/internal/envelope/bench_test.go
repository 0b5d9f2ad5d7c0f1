package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// sample returns an update of user_meta as sent by the connector, about 2.3 KiB: the largest common kind of message.
func sample() change.Record {
	after := strings.ReplaceAll(userMetaImage, "\n", "")
	return record(change.UserMeta, `{"before":`+after+`,"after":`+after+`,"source":{"version":"3.5.0.Final","connector":"mariadb","name":"lab",`+
		`"ts_ms":1795254753000,"snapshot":"false","db":"lab","sequence":null,"ts_us":1795254753000000,"ts_ns":1795254753000000000,`+
		`"table":"user_meta","server_id":1,"gtid":"0-1-41","file":"binlog.000001","pos":11894,"row":0,"thread":null,"query":null},`+
		`"transaction":null,"op":"u","ts_ms":1795254753155,"ts_us":1795254753155503,"ts_ns":1795254753155503299}`)
}

func BenchmarkDecode(b *testing.B) {
	r := sample()
	b.SetBytes(int64(len(r.Value)))
	b.Run("envelope", func(b *testing.B) {
		b.SetBytes(int64(len(r.Value)))
		for b.Loop() {
			if _, err := envelope.Decode(r); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("envelope and row", func(b *testing.B) {
		for b.Loop() {
			c, err := envelope.Decode(r)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := envelope.UserMeta(c.After); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("encoding/json into a map", func(b *testing.B) {
		for b.Loop() {
			var v map[string]any
			if err := json.Unmarshal(r.Value, &v); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
}

func perSecond(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decodes/s")
}
