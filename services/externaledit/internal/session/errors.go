package session

import "github.com/labplatform/labplatform/pkg/apperr"

// Errors for callers. They contain no data of patients.
var (
	ErrNoReport = apperr.New(apperr.NotFound, "REPORT_NOT_FOUND",
		"There is no such report in this laboratory")
	ErrNoActiveSession = apperr.New(apperr.NotFound, "NO_ACTIVE_SESSION",
		"There is no active session for this report; create one to edit it")
	ErrNoSession = apperr.New(apperr.NotFound, "SESSION_NOT_FOUND",
		"There is no such session in this laboratory")
	ErrNoTemplate = apperr.New(apperr.Invalid, "TEMPLATE_NOT_FOUND",
		"Template not found: template_id must be a template of the laboratory or of the platform,"+
			" and word_s3_filepath its file, or the Word file of a save of this report")
	ErrSessionExists = apperr.New(apperr.Conflict, "SESSION_ALREADY_ACTIVE",
		"A session is already active for this report")
	ErrNotAuthor = apperr.New(apperr.Forbidden, "NOT_THE_AUTHOR",
		"Only the author may end the session; to replace it, create one with take_over, or have an administrator end it")
	ErrInactive = apperr.New(apperr.Forbidden, "SESSION_INACTIVE",
		"The session is not active any more")
	ErrSignedReport = apperr.New(apperr.Forbidden, "REPORT_SIGNED",
		"The report is signed; remove the signature before you edit it")
	ErrDismissedReport = apperr.New(apperr.Forbidden, "REPORT_DISMISSED",
		"The report is dismissed and cannot be edited")
	ErrSignedMeanwhile = apperr.New(apperr.Conflict, "REPORT_SIGNED",
		"The report was signed meanwhile; this save is not linked. Keep the document and remove the signature to save it")
	ErrDismissedMeanwhile = apperr.New(apperr.Conflict, "REPORT_DISMISSED",
		"The report was dismissed meanwhile; this save is not linked")
	ErrOtherPatient = apperr.New(apperr.Conflict, "PATIENT_CHANGED",
		"The report belongs to another patient since this document was opened, so the document is not linked. Keep it, check"+
			" whose it is, and open the report again with a template")
	ErrNoRevision = apperr.New(apperr.NotFound, "REVISION_NOT_FOUND",
		"There is no such revision of this report")
)

// Held returns ErrSessionExists with the holder of the report and the time since when.
func Held(s *Session) error {
	return ErrSessionExists.WithDetails("active session " + itoa(s.ID) + " by " + s.Author.Name + " since " +
		s.stamp(s.CreatedAt) +
		"; wait until it ends, or take it over")
}
