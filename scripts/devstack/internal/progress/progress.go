// Package progress owns how devstack shows that long work continues.
package progress

import (
	"fmt"
	"io"
	"time"
)

// Every writes a line to out at each interval until stop is called. stop returns when nothing is written any more.
func Every(interval time.Duration, out io.Writer, line func() string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintln(out, line())
			}
		}
	}()
	return func() { close(done); <-ended }
}
