// Package images tests the images that `make images` builds: their content, their size, and that two builds have the
// same digest. It builds them as make does, on a base image that it makes itself because the real one is not reachable
// everywhere, and pushes them to a registry of its own. It is a module outside the workspace because of the builder's
// dependencies.
package images
