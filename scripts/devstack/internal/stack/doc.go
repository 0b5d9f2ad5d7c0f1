// Package stack runs one stack: it starts engines and services in order, writes endpoints.json when all are ready, and
// stops everything at the end, including the processes that a killed devstack left running.
package stack
