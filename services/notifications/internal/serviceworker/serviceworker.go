// Package serviceworker owns the script with which a browser shows push messages while the page is closed.
package serviceworker

import (
	_ "embed"
	"slices"
)

//go:embed worker.js
var script []byte

// names are the push services under whose name pages register the worker.
var names = []string{"firebase-messaging-sw.js", "fcm-sw.js", "web-push-sw.js"}

// Script returns the worker of that file name; ok is false for other names.
func Script(name string) (text []byte, ok bool) {
	if !slices.Contains(names, name) {
		return nil, false
	}
	return script, true
}
