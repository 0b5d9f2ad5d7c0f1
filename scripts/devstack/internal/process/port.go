package process

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A port whose owner is unknown is checked again: between fork and exec a child holds its parent's sockets, also
// sockets that the parent has closed meanwhile.
const (
	portLooks = 20
	lookAgain = 50 * time.Millisecond
)

// RequireFreePort returns nil when the port is free, otherwise an error with the port, its purpose, and the process
// that holds it.
func RequireFreePort(ctx context.Context, port int, purpose string) error {
	owner := "another process (run as root to see which)"
	for range portLooks {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return listener.Close()
		}
		if pid := PortOwner(port); pid != 0 {
			owner = fmt.Sprintf("process %d (%s)", pid, CommandLine(pid))
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
	}
	return fmt.Errorf(
		"port %d (%s) is in use by %s: end it, or set LAB_PORT_BASE to move this stack",
		port,
		purpose,
		owner,
	)
}
