// Package stack owns the life of one stack: it starts engines and services in order, writes endpoints.json when
// all are ready, and takes everything down again, also what a devstack that was killed left behind.
package stack
