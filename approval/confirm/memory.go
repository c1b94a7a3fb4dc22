package confirm

import (
	"context"
	"sync"
)

// Memory remembers confirmed calls for [AskOnce]. A key covers everything that a confirmation
// depends on. It is safe for concurrent use.
type Memory interface {
	// Confirmed reports whether the call with this key was confirmed.
	Confirmed(ctx context.Context, key [32]byte) (bool, error)
	// Confirm remembers a confirmation. It may forget older ones, which are then asked about again.
	Confirm(ctx context.Context, key [32]byte) error
}

const maxRemembered = 10_000

// recent is a Memory with the newest confirmations.
type recent struct {
	mu    sync.Mutex
	known map[[32]byte]bool
	order [][32]byte // the oldest first
}

func (m *recent) Confirmed(_ context.Context, key [32]byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key], nil
}

func (m *recent) Confirm(_ context.Context, key [32]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[key] {
		return nil
	}
	m.known[key] = true
	if m.order = append(m.order, key); len(m.order) > maxRemembered {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	return nil
}
