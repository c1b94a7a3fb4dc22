package task

import "sync/atomic"

// maxIdle is how many goroutines a crew keeps that have nothing to do.
const maxIdle = 64

// crew runs turns and tools in goroutines that are used again: a new one would first
// have to grow its stack to what its predecessors have. It is safe for concurrent
// use.
type crew struct {
	jobs chan func()
	stop <-chan struct{} // closed: those that are idle leave
	idle atomic.Int32
}

// run runs job in a goroutine that no other job has until job returns.
func (c *crew) run(job func()) {
	select {
	case c.jobs <- job:
	default:
		go c.work(job)
	}
}

func (c *crew) work(job func()) {
	for {
		job()
		if c.idle.Add(1) > maxIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case job = <-c.jobs:
			c.idle.Add(-1)
		case <-c.stop:
			return
		}
	}
}
