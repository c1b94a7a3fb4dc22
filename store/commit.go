package store

// Receipt reports the numbers that a commit gave to a batch. It is zero for a batch
// without a task.
type Receipt struct {
	Task  TaskID
	First uint64 // seq of the batch's first event; Last+1 when it had none
	Last  uint64 // the task's last seq after the batch
	Pub   uint64 // the task's last pub after the batch
	Rev   uint64 // the task's rev after the batch; 0 for chunks, which do not change it
	Fence uint64
	Disk  Disk // usage after the batch, where the batch set a limit
}

// Commit is the pending outcome of a batch. It is safe for concurrent use.
type Commit struct {
	done    chan struct{}
	receipt Receipt
	err     error
}

// NewCommit returns an open Commit, for implementations of [Store].
func NewCommit() *Commit { return &Commit{done: make(chan struct{})} }

// Answered returns a Commit already answered.
func Answered(r Receipt, err error) *Commit {
	c := NewCommit()
	c.Answer(r, err)
	return c
}

// Answer closes the commit with its outcome. The implementation calls it exactly
// once; a second call panics.
func (c *Commit) Answer(r Receipt, err error) {
	c.receipt, c.err = r, err
	close(c.done)
}

// Done is closed when the outcome is known.
func (c *Commit) Done() <-chan struct{} { return c.done }

// Answered reports whether the outcome is known.
func (c *Commit) Answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Wait blocks until the batch is durable or has failed, and returns the outcome. It
// may be called any number of times. It returns the errors of [Store.Append].
func (c *Commit) Wait() (Receipt, error) {
	<-c.done
	return c.receipt, c.err
}
