// Package notification is the domain of the inbox: what a notification is, who sees it, what a window of time means,
// and to which push topic it goes. It is pure.
package notification
