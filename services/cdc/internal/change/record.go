// Package change holds the data types of the pipeline: messages of the change topics, and the row changes that they
// contain. It does not depend on a broker or a store.
package change

import (
	"strings"
	"time"
)

// Record is one message of a change topic, as stored by the broker.
type Record struct {
	Topic     string // full name, such as lab.lab.userDetails
	Partition int32
	Offset    int64
	Key       []byte // nil if the message has no key, as for a TRUNCATE
	Value     []byte // nil in a tombstone
	Headers   []Header
	Timestamp time.Time // when the connector produced it
}

// Header is one header of a message.
type Header struct {
	Key   string
	Value []byte
}

// Table returns the table of the record: the last segment of the topic's name.
func (r Record) Table() string { return r.Topic[strings.LastIndexByte(r.Topic, '.')+1:] }

// Header returns the value of the first header with the key, or an empty string.
func (r Record) Header(key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
