package searchtool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/privatefile"
	"a2a-server/internal/visible"
)

const (
	batchSize = 2 << 20 // bytes of text that become durable at once
	batchTime = time.Second
	// restFactor is how many times as long as a scan the time to the next one is at least, so that
	// scans of slow disks do not take up a processor.
	restFactor = 10
)

// keeper keeps an index like its source.
type keeper struct {
	source  Source
	folder  string // "": temporary
	refresh time.Duration
	wait    time.Duration
	limits  limits
	log     zerolog.Logger

	wake chan struct{} // a scan is due

	// Of the goroutine of run.
	unlock    func()
	home      string            // the folder that is locked; "": none yet
	temporary bool              // home is removed at the end
	versions  map[string]string // by path, of the documents in the index
	unread    map[string]unread // by path, documents that are not in it

	mu        sync.Mutex
	index     *passageIndex // nil: it is not open
	first     bool          // a scan has ended
	over      bool          // run has ended
	round     chan struct{} // closed when the current or next scan ends
	at        time.Time     // when the newest scan ended
	rest      time.Duration // after it
	scanned   int           // documents that the current scan has seen to
	total     int           // of all that it has to
	documents int           // in the index
	left      string        // what the newest scan left out
	fault     string        // why it failed; "": it did not
	broken    bool          // a search found the index damaged
}

func newKeeper(c *Config) keeper {
	return keeper{
		source: c.Source, folder: c.Folder, refresh: c.Refresh, wait: c.Wait, limits: c.limits, log: c.Log.With().Str("tool", c.Name).Logger(),
		wake: make(chan struct{}, 1), round: make(chan struct{}), unread: map[string]unread{},
	}
}

// unread is a document that has no text or, if it is strange, cannot be read.
type unread struct {
	version string
	strange bool
}

// status describes the index that a search has searched.
type status struct {
	documents int
	note      string
}

// run scans whenever a search asks for it, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	defer k.end()
	for {
		began := time.Now()
		err := k.scan(ctx)
		if ctx.Err() != nil {
			return
		}
		k.note(err)
		k.mu.Lock()
		k.at, k.rest = time.Now(), max(k.refresh, restFactor*time.Since(began))
		k.first = k.first || err == nil
		close(k.round)
		k.round = make(chan struct{})
		k.mu.Unlock()
		select {
		case <-k.wake:
		case <-ctx.Done():
			return
		}
	}
}

// end closes the index, and removes it if it is temporary.
func (k *keeper) end() {
	k.drop()
	k.mu.Lock()
	k.over = true
	close(k.round)
	k.mu.Unlock()
	if k.temporary {
		if err := os.RemoveAll(k.home); err != nil {
			k.log.Warn().Err(err).Msg("a temporary index was not removed")
		}
	}
	if k.unlock != nil {
		k.unlock()
	}
}

// note keeps the outcome of a scan, and logs a fault once.
func (k *keeper) note(err error) {
	fault := ""
	if err != nil {
		fault = visible.Shorten(err.Error(), 500)
	}
	k.mu.Lock()
	before := k.fault
	k.fault = fault
	k.mu.Unlock()
	if fault != "" && fault != before {
		k.log.Warn().Str("error", fault).Msg("documents were not indexed: a later search tries again")
	}
}

// drop closes the index, if it is open.
func (k *keeper) drop() {
	k.mu.Lock()
	x := k.index
	k.index, k.broken = nil, false
	k.mu.Unlock()
	if x == nil {
		return
	}
	if err := x.close(); err != nil {
		k.log.Warn().Err(err).Msg("an index was not closed cleanly")
	}
}

// settle chooses the folder of the index and locks it. If another process has the lock, the
// folder is a temporary one.
func (k *keeper) settle(ctx context.Context) (err error) {
	if k.home != "" {
		return nil
	}
	home := k.folder
	if home != "" {
		if err := os.MkdirAll(home, 0o700); err != nil {
			return fmt.Errorf("make the folder of the index: %w", err)
		}
		switch k.unlock, err = privatefile.LockWithin(ctx, home, lockTime); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			k.log.Warn().Err(err).Msg("the index is in use: another one is made in a temporary folder")
			home = ""
		}
	}
	if home == "" {
		if home, err = os.MkdirTemp("", "a2a-server-search-"); err != nil {
			return fmt.Errorf("make a temporary folder for the index: %w", err)
		}
		k.temporary = true
	}
	k.home = home
	return nil
}

// lockTime is how long the lock of an index is waited for: a server that reloads its configuration
// keeps the tool before for some seconds.
const lockTime = 12 * time.Second

// open opens the index, or makes it anew if it cannot be opened.
func (k *keeper) open(ctx context.Context) (*passageIndex, error) {
	k.mu.Lock()
	x, broken := k.index, k.broken
	k.mu.Unlock()
	if x != nil && !broken {
		return x, nil
	}
	if err := k.settle(ctx); err != nil {
		return nil, err
	}
	files := filepath.Join(k.home, "index")
	versions, err := map[string]string(nil), errDamaged
	if broken {
		k.drop()
	} else {
		x, versions, err = openIndex(files)
	}
	if err != nil {
		k.log.Warn().Err(err).Msg("the index is damaged: it is made anew")
		if err := os.RemoveAll(files); err != nil {
			return nil, fmt.Errorf("remove the index: %w", err)
		}
		if x, versions, err = openIndex(files); err != nil {
			return nil, fmt.Errorf("make the index in %s: %w", k.home, err)
		}
	}
	k.versions = versions
	k.mu.Lock()
	k.index, k.documents = x, len(versions)
	k.mu.Unlock()
	return x, nil
}

// scan makes the index like the source.
func (k *keeper) scan(ctx context.Context) error {
	x, err := k.open(ctx)
	if err != nil {
		return err
	}
	all, left, err := k.source.Documents(ctx, k.limits.documents)
	if err != nil {
		return err
	}
	s := scan{keeper: k, x: x, batch: newBatch(), began: time.Now()}
	if left != "" {
		s.left = append(s.left, left)
	}
	k.mu.Lock()
	k.scanned, k.total = 0, len(all)
	k.mu.Unlock()
	if err := s.run(ctx, all); err != nil {
		if ctx.Err() == nil && !errors.Is(err, errFull) {
			k.mu.Lock()
			k.broken = k.broken || errors.Is(err, errDamaged)
			broken := k.broken
			k.mu.Unlock()
			if !broken {
				k.drop() // the library would try to write the batch again and again
			}
		}
		return err
	}
	k.mu.Lock()
	k.left = strings.Join(s.left, "; ")
	k.mu.Unlock()
	return nil
}

// search searches the index as it is now.
func (k *keeper) search(ctx context.Context, words []string, limit int) ([]hit, status, error) {
	k.mu.Lock()
	x, s, over := k.index, k.status(), k.over
	nothing := !k.first && k.fault != "" && k.documents == 0
	k.mu.Unlock()
	switch {
	case over:
		return nil, status{}, errClosed
	case s.note != "" && (x == nil || nothing):
		return nil, status{}, fmt.Errorf("nothing can be searched yet: %s", s.note)
	case x == nil:
		return nil, status{}, errors.New("nothing can be searched yet: the index is being opened; call the tool again in a moment")
	}
	hits, err := x.search(ctx, words, limit)
	if errors.Is(err, errDamaged) {
		k.mu.Lock()
		k.broken = k.index == x
		k.mu.Unlock()
		k.due()
		return nil, status{}, errors.New("the index is damaged and is being made anew: call the tool again in a moment")
	}
	if err != nil {
		return nil, status{}, fmt.Errorf("search the index: %w", err)
	}
	return hits, s, nil
}

// status describes the index. The caller has the lock.
func (k *keeper) status() status {
	s := status{documents: k.documents}
	var notes []string
	switch {
	case k.fault != "":
		notes = append(notes, "the index may be old: "+k.fault)
	case !k.first && k.index != nil:
		notes = append(notes, fmt.Sprintf("the index is being made, and %d of %d documents have been looked at: call the tool again later", k.scanned, k.total))
	}
	if k.left != "" {
		notes = append(notes, k.left)
	}
	s.note = strings.Join(notes, "; ")
	return s
}

// due has the source scanned soon.
func (k *keeper) due() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// refreshed has the source scanned if the newest scan is too old, and waits for the end: a moment,
// or longer if it is the first.
func (k *keeper) refreshed(ctx context.Context) error {
	k.mu.Lock()
	wait, round := time.Duration(0), k.round
	switch {
	case k.over:
	case k.at.IsZero():
		wait = k.wait
	case time.Since(k.at) >= k.rest || k.broken:
		wait = refreshedFor
		k.due()
	}
	k.mu.Unlock()
	if wait == 0 {
		return nil
	}
	select {
	case <-round:
	case <-time.After(wait):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
