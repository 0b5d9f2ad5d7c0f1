// Package rest owns what every REST edge of the platform does alike: the HTTP status of each kind of error, the
// documented error bodies of the areas, the trailing slash, and the headers that may pass inwards.
package rest
