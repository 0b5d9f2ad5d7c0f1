// Package day plays days of a diagnostic laboratory on a running platform: patients come, samples are measured, some
// values are critical or measured again, people are called, messages go out, documents are edited and bills are split.
//
// What the laboratory's core does, it does as the core: rows of patients, bills, reports and values, and the request to
// judge a bill. Everything else goes through the public listener as one of the demo's people. The same seed draws the
// same patients; when things happen depends on the machine.
package day
