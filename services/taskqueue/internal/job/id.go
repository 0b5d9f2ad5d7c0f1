package job

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
)

// ID identifies a job: shard (2 digits), lane (1 character), ULID (26 characters). It is opaque to clients, sorts by
// creation within a lane, and contains everything that the engine needs to find the job's keys.
type ID string

// IDLength is the length of every id in bytes.
const IDLength = 29

// Shards is the number of shards of the queue. All keys of a shard are in one slot of a Redis Cluster. The number never
// changes, because stored keys are located by their hash modulo this number.
const Shards = 16

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ParseID accepts only ids that a Generator can create.
func ParseID(s string) (ID, error) {
	notFound := apperr.New(apperr.NotFound, "JOB_NOT_FOUND", "Job not found")
	if len(s) != IDLength || !digit(s[0]) || !digit(s[1]) {
		return "", notFound
	}
	if _, ok := laneOf(s[2]); !ok || ID(s).Shard() >= Shards {
		return "", notFound
	}
	if strings.Trim(s[3:], crockford) != "" {
		return "", notFound
	}
	return ID(s), nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// Shard returns the number of the shard that holds the job.
func (id ID) Shard() int { return int(id[0]-'0')*10 + int(id[1]-'0') }

// Lane returns the lane in which the job waits.
func (id ID) Lane() Lane {
	l, _ := laneOf(id[2])
	return l
}

// CreatedMs returns when the id was created, in milliseconds since 1970.
func (id ID) CreatedMs() int64 {
	var ms int64
	for i := 3; i < 13; i++ {
		ms = ms<<5 | int64(strings.IndexByte(crockford, id[i]))
	}
	return ms
}

// Generator creates ids that increase within a process, even within one millisecond, so that jobs of a lane keep their
// order. It is safe for concurrent use.
type Generator struct {
	clock clock.Clock

	mu     sync.Mutex // guards the fields below
	lastMs int64
	high   uint16 // upper 16 of the 80 random bits
	low    uint64
}

// NewGenerator returns a generator that uses clk for the time in its ids.
func NewGenerator(clk clock.Clock) *Generator { return &Generator{clock: clk} }

// Next returns a new id. Its ULID is greater than all previous ones.
func (g *Generator) Next(shard int, lane Lane) ID {
	ms := g.clock.Now().UnixMilli()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advance(ms)
	return g.format(shard, lane)
}

func (g *Generator) advance(ms int64) {
	if ms <= g.lastMs {
		g.low++
		if g.low == 0 {
			g.high++
		}
		return
	}
	var seed [10]byte
	_, _ = rand.Read(seed[:]) // never fails
	g.lastMs = ms
	g.high = binary.BigEndian.Uint16(seed[:2]) >> 1 // leave room for increments
	g.low = binary.BigEndian.Uint64(seed[2:])
}

func (g *Generator) format(shard int, lane Lane) ID {
	var out [IDLength]byte
	out[0], out[1], out[2] = byte('0'+shard/10), byte('0'+shard%10), lane.letter()
	ms := uint64(g.lastMs)
	for i := 12; i >= 3; i-- {
		out[i] = crockford[ms&31]
		ms >>= 5
	}
	high, low := uint64(g.high), g.low
	for i := IDLength - 1; i >= 13; i-- {
		out[i] = crockford[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return ID(out[:])
}

// Hour returns the name of the result bucket for jobs created at ms, as UTC yyyymmddhh.
func Hour(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006010215") }
