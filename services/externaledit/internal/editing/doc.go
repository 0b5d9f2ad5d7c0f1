// Package editing owns the life of a session: opening it, also in place of someone else's, looking at it, keeping it
// alive, and ending it. Every change holds the report's row, so that of any number of callers one opens a session.
package editing
