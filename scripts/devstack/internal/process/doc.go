// Package process owns the child processes of the stack: how they are started, recorded, recognised again by
// another devstack, and ended. It reads /proc and so runs on Linux only.
//
// A child has its own process group (Ctrl-C reaches devstack alone), writes to its own log, and gets SIGTERM
// from the kernel if devstack dies first. A pid file keeps, beside the pid, when that process started, so that
// a recycled pid is never taken for it.
package process
