package writer

import (
	"fmt"
	"sync"
	"time"

	"a2a-server/store/boltstore/internal/boltfile"
)

// slowCommit is how long a commit may take before the store is said to be in trouble.
const slowCommit = 5 * time.Second

// trouble is the error that keeps the store from writing for now. It is safe for concurrent
// use.
type trouble struct {
	mu    sync.Mutex
	why   error     // nil: nothing does
	began time.Time // of the commit that is under way; zero: none is
}

func (t *trouble) set(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.why = why
}

// commit notes when a commit began; zero: it has ended.
func (t *trouble) commit(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = began
}

func (t *trouble) now(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why != nil {
		return t.why
	}
	if took := now.Sub(t.began); !t.began.IsZero() && took > slowCommit {
		return boltfile.SlowError(fmt.Sprintf("the disk has been taking %v for one commit: requests wait for it, and continue when it is done", took.Truncate(time.Second)))
	}
	return nil
}

// Trouble returns the error that keeps the store from writing, or nil. After
// store.ErrUnavailable the store recovers by itself when the cause is gone.
func (w *Writer) Trouble() error {
	if err := w.File.Failure(); err != nil {
		return err
	}
	return w.trouble.now(time.Now())
}
