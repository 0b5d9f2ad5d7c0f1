// Package indexsync owns the way of a row of user_meta into the search index: which operations an event becomes, how
// they are sent until each has an end, and what that end means for the event.
//
// Whatever is sent may be sent again: every operation carries a version, and the server drops what is older than what
// it holds. That is why a lost answer is no problem here, only a repeat.
package indexsync
