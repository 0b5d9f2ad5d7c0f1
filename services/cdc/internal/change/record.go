// Package change owns what travels through the pipeline: the messages of the change topics and the row changes that
// they carry. It knows no broker and no store.
package change

import (
	"strings"
	"time"
)

// Record is one message of a change topic, as the broker keeps it.
type Record struct {
	Topic     string // physical name, as in lab.lab.userDetails
	Partition int32
	Offset    int64
	Key       []byte // nil when the message has none, as a TRUNCATE
	Value     []byte // nil in a tombstone
	Headers   []Header
	Timestamp time.Time // when the connector produced it
}

// Header is one header of a message.
type Header struct {
	Key   string
	Value []byte
}

// Table returns the table that the record's topic carries: the last segment of its name.
func (r Record) Table() string { return r.Topic[strings.LastIndexByte(r.Topic, '.')+1:] }

// Header returns the value of the first header with the given key, "" when there is none.
func (r Record) Header(key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
