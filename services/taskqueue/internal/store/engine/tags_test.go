package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const slotCount = 16384

// slotOf returns the slot of a hash tag, as defined by Redis Cluster: CRC-16/XMODEM modulo 16,384.
func slotOf(tag string) int {
	crc := uint16(0)
	for _, c := range []byte(tag) {
		crc ^= uint16(c) << 8
		for range 8 {
			high := crc&0x8000 != 0
			crc <<= 1
			if high {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slotCount
}

func TestSlotOfIsTheOneOfTheSpecification(t *testing.T) {
	t.Parallel()
	if got := slotOf("123456789"); got != 0x31C3 {
		t.Errorf("slot %#x, want the check value of CRC-16/XMODEM", got)
	}
}

func TestShardsSpreadEvenlyOverTheNodesOfACluster(t *testing.T) {
	t.Parallel()
	for nodes := 1; nodes <= 16; nodes++ {
		held := make([]int, nodes)
		for _, tag := range tags {
			held[slotOf(tag)*nodes/slotCount]++
		}
		for node, n := range held {
			if n != job.Shards/nodes && n != (job.Shards+nodes-1)/nodes {
				t.Errorf("%d nodes: node %d holds %d shards: %v", nodes, node, n, held)
			}
		}
	}
}

func TestTagsAreDistinctSafeAndBeginWithTheNumberOfTheShard(t *testing.T) {
	t.Parallel()
	slots := map[int]bool{}
	for shard, tag := range tags {
		if !strings.HasPrefix(tag, fmt.Sprintf("%02d", shard)) || strings.ContainsAny(tag, "{}:") {
			t.Errorf("shard %d has tag %q", shard, tag)
		}
		slots[slotOf(tag)] = true
	}
	if len(slots) != job.Shards || tags[0] != "00" {
		t.Errorf("%d slots for %d shards; the first tag is %q, which existing queues have", len(slots), job.Shards, tags[0])
	}
}
