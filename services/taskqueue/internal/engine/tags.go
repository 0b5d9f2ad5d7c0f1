package engine

import "github.com/labplatform/labplatform/services/taskqueue/internal/job"

// tags are the hash tags of the shards: all keys of a shard are on the slot of its tag. Their slots lie evenly on the
// ring of 16,384, so that every node of a cluster with equal parts holds as many shards as the others, or one more. A
// tag begins with the shard's number; the letters only choose the slot. Tags name stored data: they never change.
var tags = [job.Shards]string{
	"00", "01bfax", "02anua", "03agyl", "04agmo", "05afhz", "06bwwk", "07bgpn",
	"08bqwc", "09bapf", "10abda", "11acat", "12bgpx", "13bfum", "14bbmc", "15bchv",
}
