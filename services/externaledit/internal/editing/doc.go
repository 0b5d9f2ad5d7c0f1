// Package editing manages editing sessions: it opens them, also in place of another user's session, shows them, keeps
// them alive, and ends them. Every change locks the report's row, so that of several concurrent callers only one opens
// a session.
package editing
