package servicetest

import (
	"io"
	"strings"
	"sync"
)

// Logs keeps the output of a service. It is safe for concurrent use; the zero value is ready to use.
type Logs struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

var _ io.Writer = (*Logs)(nil)

func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything that was written so far.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
