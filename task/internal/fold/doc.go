// Package fold has the state of a task. A task is a log: everything that happens to it is an
// event, and only events change its [Fold], so folding the same log always gives the same
// fold. A [Session] is the state that the tasks of a context share.
package fold
