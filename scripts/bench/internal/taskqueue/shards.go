package taskqueue

import (
	"context"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
)

// Numbers are the numbers of shards that --shards asks to measure.
type Numbers []int

// RegisterShards adds the flag --shards of the task queue.
func RegisterShards(f *flag.FlagSet) {
	f.Var(&shardNumbers, "shards", "taskqueue: also measure these `numbers` of shards on two Redis processes, such as 1,4")
}

var shardNumbers Numbers

// String implements flag.Value.
func (n *Numbers) String() string { return strings.Trim(fmt.Sprint(*n), "[]") }

// Set implements flag.Value.
func (n *Numbers) Set(text string) error {
	*n = nil
	for one := range strings.SplitSeq(text, ",") {
		shards, err := strconv.Atoi(one)
		if err != nil || shards < 1 {
			return fmt.Errorf("%q is not a number of shards", one)
		}
		*n = append(*n, shards)
	}
	return nil
}

// shards measures jobs a second with some numbers of shards on a cluster of two Redis processes, fsync at every write.
// With one shard one of them has all the work.
func (b *bench) shards(ctx context.Context) error {
	if len(shardNumbers) == 0 {
		return nil
	}
	pair, err := startPair(ctx)
	if err != nil {
		return fmt.Errorf("start a cluster of two: %w", err)
	}
	for _, s := range pair {
		defer s.stop()
	}
	for _, shards := range shardNumbers {
		var rates []float64
		for range b.sizes.rounds {
			e, err := openShards(ctx, shards, pair[0].address, pair[1].address)
			if err != nil {
				return err
			}
			if err := pair[1].wipe(ctx); err != nil {
				return err
			}
			m, err := b.run(ctx, pair[0], e, b.sizes.ours, 0)
			if err != nil {
				return fmt.Errorf("%d shards: %w", shards, err)
			}
			rates = append(rates, m.perSecond)
		}
		b.report.Higher(fmt.Sprintf("e2e_jobs_per_second_%d_shards_two_redis", shards), "1/s", rates, "", nil)
	}
	return nil
}

const slots = 16384

// startPair starts a cluster of two masters with half of the slots each.
func startPair(ctx context.Context) (pair [2]*server, err error) {
	var buses [2]string
	for i := range pair {
		bus, err := process.FreePort()
		if err != nil {
			return pair, err
		}
		buses[i] = strconv.Itoa(bus)
		pair[i], err = startServer(ctx, "always", "--cluster-enabled", "yes", "--cluster-port", buses[i])
		if err != nil {
			return pair, err
		}
		if err := pair[i].client.ClusterAddSlotsRange(ctx, i*slots/2, (i+1)*slots/2-1).Err(); err != nil {
			return pair, err
		}
		if err := pair[i].client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return pair, err
		}
	}
	host, port, err := net.SplitHostPort(pair[1].address)
	if err != nil {
		return pair, err
	}
	if err := pair[0].client.Do(ctx, "CLUSTER", "MEET", host, port, buses[1]).Err(); err != nil {
		return pair, err
	}
	return pair, whole(ctx, pair)
}

// whole waits until both nodes serve all slots.
func whole(ctx context.Context, pair [2]*server) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, s := range pair {
		for {
			info, err := s.client.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2") {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}
