// Package images tests the images that make images builds: what is in them, that two builds are one digest, and their
// size. It builds them as make does and pushes them to a registry of its own, on a base that it makes: the real one
// cannot be had everywhere. A module of its own, outside the workspace, because of what the builder requires.
package images
