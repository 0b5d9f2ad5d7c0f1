// Package task owns the catalogue of tasks (task, task_type, default priority), what a submitted task must look
// like, and the reading of its payload per channel. It turns a submission into a job body or into the list of
// wrong fields; it knows no store.
package task
