// Package inbox lists notifications, marks them as read or unread, and lists who did so.
package inbox
