// Package serviceworker contains the script with which a browser shows push messages while the page is closed.
package serviceworker

import (
	_ "embed"
	"slices"
)

//go:embed worker.js
var script []byte

// names are the file names with which pages register the worker, one per push service.
var names = []string{"firebase-messaging-sw.js", "fcm-sw.js", "web-push-sw.js"}

// Script returns the worker with that file name; ok is false for other names.
func Script(name string) (text []byte, ok bool) {
	if !slices.Contains(names, name) {
		return nil, false
	}
	return script, true
}
