package rowtrace

import (
	"crypto/sha256"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// committed is what a record tells about the commit that it comes from.
type committed struct {
	span   trace.SpanContext
	source change.Source
}

// read returns false for what has no trace: heartbeats, snapshots, whose rows were committed at another time, and what
// cannot be read. Nothing that a record holds may end the process that only wanted to follow it.
func read(r change.Record) (c committed, ok bool) {
	defer func() {
		if recover() != nil {
			c, ok = committed{}, false
		}
	}()
	return identify(r)
}

func identify(r change.Record) (committed, bool) {
	table := r.Table()
	switch table {
	case change.UserDetails, change.Billing, change.LabReportRelation, change.UserMeta:
	default:
		return committed{}, false
	}
	c, err := envelope.Decode(r)
	if err != nil {
		return committed{}, false
	}
	image := c.After
	switch c.Op {
	case change.Create, change.Update:
	case change.Delete:
		image = c.Before
	default:
		return committed{}, false
	}
	if image == nil {
		return committed{}, false
	}
	if table == change.UserMeta {
		row, err := envelope.UserMeta(image)
		return committed{projected(row.UserID, row.Rev), c.Source}, err == nil && row.Rev != 0
	}
	row, err := envelope.Source(table, image)
	position := fmt.Sprintf("%s\x00%s\x00%d\x00%s", table, c.Source.File, c.Source.Pos, r.Key)
	return committed{identity(position, row.UserID), c.Source}, err == nil
}

// projected is the commit of one revision of a patient's row in user_meta.
func projected(userID, rev int64) trace.SpanContext {
	return identity(change.UserMeta+"\x00"+strconv.FormatInt(rev, 10), userID)
}

// identity is the first span of the change that position and the patient name.
func identity(position string, userID int64) trace.SpanContext {
	patient := sha256.Sum256([]byte("patient\x00" + strconv.FormatInt(userID, 10)))
	hash := sha256.Sum256(append([]byte(position+"\x00"), patient[:]...))
	var id trace.TraceID
	copy(id[:8], hash[:8])
	copy(id[8:], patient[:8]) // the half by which the SDK's sampler decides
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: trace.SpanID(hash[8:16]), TraceFlags: trace.FlagsSampled,
	})
}
