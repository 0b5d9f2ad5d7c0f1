// Package roster lists the services of the stack: the name, listeners and environment of each. A new service needs one
// entry here.
package roster
