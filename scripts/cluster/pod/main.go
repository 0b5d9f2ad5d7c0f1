// Command pod holds a pod's namespaces and reaps its orphaned processes. With addresses as arguments it prints whether
// each one accepts a connection, for the tests of NetworkPolicies.
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

// patience is the time limit of a connection. A policy drops packets, so there is no response.
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

// settle is the time until policies include this pod, whose address is known only after its start.
const settle = 5 * time.Second

// dial prints each address with open, refused (no listener, and no policy forbids it) or dropped.
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
	time.Sleep(time.Hour) // other pods connect to this one
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
