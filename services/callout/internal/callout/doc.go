// Package callout is the domain of critical results: the states of a report's callout, what is critical about a report,
// what was communicated to whom, and who may see it. It knows no store and no transport.
package callout
