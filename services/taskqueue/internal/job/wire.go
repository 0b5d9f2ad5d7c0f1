package job

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The stored form is the protobuf wire format written by hand: as fast as generated code, unknown fields are
// skipped so that old and new processes share one Redis during a deployment, and `protoc --decode_raw` reads it.

var errCorrupt = errors.New("stored job is corrupt")

func putInt(b []byte, field protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func putString[T string | []byte](b []byte, field protowire.Number, v T) []byte {
	if len(v) == 0 {
		return b
	}
	return append(protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(len(v))), v...)
}

// walk calls set for every field: number is set for varints, text for byte fields.
func walk(b []byte, set func(field protowire.Number, number int64, text []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errCorrupt
		}
		b = b[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return errCorrupt
		}
		b = b[n:]
		if err := set(field, int64(number), text); err != nil {
			return err
		}
	}
	return nil
}
