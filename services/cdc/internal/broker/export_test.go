package broker

import "time"

// Look has the group look for partitions without work that often.
func (g *Group) Look(every time.Duration) { g.look = every }
