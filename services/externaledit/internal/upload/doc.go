// Package upload owns a save: a Word document and its PDF, which are linked to the report together or not at all.
//
// A save gets its number when its upload begins, so that an upload that was overtaken never replaces a newer one. Its
// files are stored under keys of their own, announced in a row of external_edit_upload; one transaction turns that row
// into a revision and moves both pointers. Whatever fails on the way leaves the previous pair linked. The files of a
// save that was not linked are deleted at once, or by the sweeper when the process died.
package upload
