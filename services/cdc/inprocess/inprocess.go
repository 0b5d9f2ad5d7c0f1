// Package inprocess lends parts of the pipeline to another program: for load generators, which measure the decoder of
// change events without the brokers and the stores around it, and fill an index without the pipeline before it.
package inprocess

import (
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// Decode reads one message of a change topic as the consumer does: the envelope, and the columns of its images. The
// error names what is malformed, never a value.
func Decode(topic string, value []byte) error {
	c, err := envelope.Decode(change.Record{Topic: topic, Value: value})
	if err != nil || c.Tombstone {
		return err
	}
	if c.Table == change.UserMeta {
		return row(c)
	}
	for _, image := range [][]byte{c.Before, c.After} {
		if image == nil {
			continue
		}
		if _, err := envelope.Source(c.Table, image); err != nil {
			return err
		}
	}
	return nil
}

// row reads the newest image of user_meta.
func row(c change.Change) error {
	image := c.After
	if image == nil {
		image = c.Before
	}
	_, err := envelope.UserMeta(image)
	return err
}
