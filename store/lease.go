package store

import "context"

// Leases tells which instances hold their epochs. Every Store implements it.
type Leases interface {
	// Epoch returns the number of the instance: handles of the same backend have different
	// epochs, and a later handle has a larger epoch, also after a reopen.
	Epoch() uint64

	// Lease returns whether an instance holds an epoch. An instance that finds an older epoch in stored
	// data, such as a Live task, takes over its data only once no instance holds it.
	// ErrUnavailable: the backend cannot tell now.
	Lease(ctx context.Context, epoch uint64) (Lease, error)
}

// Lease is the right of an instance to what its epoch is written in. It ends with the instance. In
// a backend of a single process, it also ends when a later handle is made: the file's lock, or the
// memory, keeps other processes out, so any other epoch is of a process that is gone, or was
// replaced.
type Lease struct{ Held bool }
