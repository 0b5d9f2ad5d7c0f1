// Package periodic owns tasks that run again and again at the times of a cron expression. A tick is one script that
// moves the definition to its next time and gives birth to the job, so however many processes look at it, and wherever
// one of them dies, a tick is one job.
package periodic
