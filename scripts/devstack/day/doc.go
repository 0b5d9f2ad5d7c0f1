// Package day simulates days of a diagnostic laboratory on a running platform: patients come, samples are measured,
// some values are critical or measured again, people are called, messages are sent, documents are edited, and bills are
// split.
//
// It does the part of the laboratory's core directly: it inserts patients, bills, reports and values, and requests the
// evaluation of bills. Everything else goes through the public listener, with sessions of the demo's people. The same
// seed gives the same patients, but the times of events depend on the machine.
package day
