// Command pod holds a pod's namespaces and buries its orphans. Told to dial it says what becomes of a connection to
// each of the addresses: the tests of NetworkPolicies run it.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long a connection may take: a policy drops it without a word.
const patience = 2 * time.Second

func main() {
	if len(os.Args) > 2 && os.Args[1] == "dial" {
		dial(os.Args[2:])
		return
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if id, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); id <= 0 || err != nil {
				break
			}
		}
	}
}

// settle is how long policies take to know this pod: its address is told to them after its start.
const settle = 5 * time.Second

// dial prints each address with open, refused (no one listens there, and no policy forbids it) or dropped.
func dial(addresses []string) {
	if port, listens := strings.CutPrefix(addresses[0], "--listen="); listens {
		addresses = addresses[1:]
		go serve(port)
	}
	time.Sleep(settle)
	var group sync.WaitGroup
	for _, address := range addresses {
		group.Go(func() {
			state := "open"
			connection, err := net.DialTimeout("tcp", address, patience)
			switch {
			case err == nil:
				_ = connection.Close()
			case errors.Is(err, syscall.ECONNREFUSED):
				state = "refused"
			default:
				state = "dropped"
			}
			fmt.Println(address, state)
		})
	}
	group.Wait()
	fmt.Println("done")
	time.Sleep(time.Hour) // others dial this pod
}

func serve(port string) {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		if connection, err := listener.Accept(); err == nil {
			_ = connection.Close()
		}
	}
}
