package search

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"math"
	"strings"
	"time"
)

// Cursor is the position of a hit in the results of a search. The next page begins after this hit.
type Cursor struct {
	Score  float64
	UserID int64
	Origin time.Time // reference time for recency, the same on all pages of a search
}

const (
	cursorVersion = 1
	cursorSize    = 1 + 4*8
)

var errCursor = errors.New("this is no cursor of an answer")

// Encode returns the cursor as an opaque text, valid only for the query q.
func (c Cursor) Encode(q Query) string {
	b := make([]byte, 0, cursorSize)
	b = binary.BigEndian.AppendUint64(append(b, cursorVersion), math.Float64bits(c.Score))
	b = binary.BigEndian.AppendUint64(b, uint64(c.UserID))        // the conversion preserves the bits
	b = binary.BigEndian.AppendUint64(b, uint64(c.Origin.Unix())) // the conversion preserves the bits
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, q.sum()))
}

// decodeCursor decodes a cursor and checks that it belongs to q.
func decodeCursor(text string, q Query) (Cursor, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != cursorSize || b[0] != cursorVersion {
		return Cursor{}, errCursor
	}
	number := func(n int) uint64 { return binary.BigEndian.Uint64(b[1+8*n:]) }
	c := Cursor{
		Score:  math.Float64frombits(number(0)),
		UserID: int64(number(1)),               // the conversion preserves the bits
		Origin: time.Unix(int64(number(2)), 0), // the conversion preserves the bits
	}
	switch {
	case math.IsNaN(c.Score) || math.IsInf(c.Score, 0) || c.Score < 0:
		return Cursor{}, errCursor
	case number(3) != q.sum():
		return Cursor{}, errors.New("this cursor is of another search")
	}
	return c, nil
}

// sum returns a hash that identifies the search without revealing its text.
func (q *Query) sum() uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strings.Join([]string{q.Text, string(q.Key), join(q.Fields)}, "\x00"))
	return h.Sum64()
}
