package store

// Health is the state of a backend, as an operator and the readers of positions need it. Every
// Store implements it. Its methods return at once.
type Health interface {
	// Err returns nil while the backend works, and then the error that has ended it for good:
	// ErrDamaged when the outcome of a commit is unknown or its data is damaged, ErrClosed after it
	// was closed.
	Err() error

	// Trouble returns the error that keeps the backend from writing now, or nil. After
	// ErrUnavailable the backend recovers by itself when the cause is gone.
	Trouble() error

	// Incarnation returns a random number of the stored data, which stays when the backend is
	// opened again. It is new when the data is restored: positions that readers remember
	// of the original do not apply to it.
	Incarnation() uint64
}
