// Package upload receives saves: a Word document and its PDF, which are linked to the report together or not at all.
//
// A save gets its number when its upload begins, so that an upload that was overtaken never replaces a newer one. Its
// files are stored under keys of their own, which a row of external_edit_upload announces. One transaction converts
// that row to a revision and links both files. After any failure, the previous files stay linked. The files of a save
// that was not linked are deleted at once or, after a crash, by the sweeper.
package upload
