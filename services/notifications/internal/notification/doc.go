// Package notification is the domain of the inbox: notifications, their viewers, windows of time and push topics. It is
// pure.
package notification
