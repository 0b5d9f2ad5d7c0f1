// Package notification contains the rules of the inbox: notifications, their viewers, windows of time, and push topics.
// It depends on no store and no transport.
package notification
