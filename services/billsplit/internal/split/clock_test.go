package split_test

import "time"

// steady is a clock that always shows the same time.
type steady struct{}

func (steady) Now() time.Time { return time.UnixMilli(1_790_000_000_000) }
