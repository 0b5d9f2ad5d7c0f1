// Package film takes pictures of a working day in the demo laboratory: every scene in light and dark on a laptop, on a
// tablet, and at 200 %. It needs the platform of `make run` with its search, and changes its data.
package film
