// Package inprocess exposes parts of the pipeline to load generators: the decoder of change events, without brokers and
// stores, and writes to an index, without the pipeline.
package inprocess

import (
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// Decode decodes one message of a change topic as the consumer does: the envelope and the columns of its row images.
// Errors name the malformed part but never contain a value.
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

// row decodes the newest image of user_meta.
func row(c change.Change) error {
	image := c.After
	if image == nil {
		image = c.Before
	}
	_, err := envelope.UserMeta(image)
	return err
}
