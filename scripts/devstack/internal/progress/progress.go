// Package progress writes lines that show that long work continues.
package progress

import (
	"fmt"
	"io"
	"time"
)

// Every writes line() to out at each interval until stop is called. No write follows after stop has returned.
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
