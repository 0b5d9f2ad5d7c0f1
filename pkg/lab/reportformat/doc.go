// Package reportformat owns how the platform's tables ReportFormat and ReportFormatRange are read into what
// pkg/lab/clinical judges by. Every service that judges results reads them through it, so that no two services read a
// range differently.
//
// A range that cannot be read decides nothing: it is left out, never guessed.
package reportformat
