// Package reportformat converts rows of the platform's tables ReportFormat and ReportFormatRange into the references of
// pkg/lab/clinical. All services that evaluate results use it, so that they interpret ranges in the same way.
//
// An invalid range is left out and never guessed. Critical texts that cannot be read make results unclear.
package reportformat
