package process

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// RequireFreePort returns an error that names the port, what it is for, and the process that holds it.
func RequireFreePort(ctx context.Context, port int, purpose string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return listener.Close()
	}
	owner := "another process (run as root to see which)"
	if pid := PortOwner(port); pid != 0 {
		owner = fmt.Sprintf("process %d (%s)", pid, CommandLine(pid))
	}
	return fmt.Errorf(
		"port %d (%s) is in use by %s: end it, or set LAB_PORT_BASE to move this stack",
		port,
		purpose,
		owner,
	)
}
