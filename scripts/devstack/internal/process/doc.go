// Package process starts the child processes of the stack, records them, finds them again from another devstack, and
// ends them. It reads /proc and so runs on Linux only.
//
// A child has its own process group, so that Ctrl-C reaches devstack only. It writes to its own log, and gets SIGTERM
// from the kernel if devstack dies first. A pid file holds the pid and the start time of the process, so that a reused
// pid is never mistaken for it.
package process
