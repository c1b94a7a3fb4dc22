package keyring

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"a2a-server/internal/privatefile"
)

// ring is the keys of a purpose, and the file that they are in.
type ring struct {
	cfg     Config
	purpose Purpose
	keys    atomic.Pointer[[]key]
	looked  atomic.Int64 // when the file was last looked at, in Unix nanoseconds

	mu   sync.Mutex
	seen fs.FileInfo // the file that was read last, valid or not; nil: there was none
}

// current returns the keys, newest first. Once in a while it looks for a new file.
func (r *ring) current() []key {
	if r.cfg.Folder != "" {
		now, looked := r.cfg.Now().UnixNano(), r.looked.Load()
		if since := now - looked; (since >= int64(noticing) || since < 0) && r.looked.CompareAndSwap(looked, now) {
			if err := r.reload(false); err != nil {
				r.cfg.Log.Error().Err(err).Msg("a file of the server's own keys has changed and is not valid: the keys in use stay")
			}
		}
	}
	return *r.keys.Load()
}

// open reads the keys at the start, and makes them if there are none.
func (r *ring) open() error {
	now := r.cfg.Now()
	r.looked.Store(now.UnixNano())
	if r.cfg.Folder == "" {
		r.keys.Store(&[]key{newKey(r.purpose, now, nil)})
		return nil
	}
	return r.load(true /* first */)
}

// load reads the file, and removes keys that have ended from it. The first time it makes a
// file that is missing, and removes what a crash has left.
func (r *ring) load(first bool) error {
	unlock, err := privatefile.Lock(r.cfg.Folder)
	if err != nil {
		return err
	}
	defer unlock()
	name, now := path(r.cfg.Folder, r.purpose), r.cfg.Now()
	if first {
		if err := privatefile.Sweep(name); err != nil {
			return err
		}
	}
	// Before anything is read: a replacement in between is seen the next time.
	r.seen, _ = os.Stat(name)
	if err := tighten(name, r.cfg.Log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	keys, err := read(r.cfg.Folder, r.purpose)
	changed := true
	switch {
	case first && errors.Is(err, fs.ErrNotExist):
		keys = []key{newKey(r.purpose, now, nil)}
	case err != nil:
		return err
	case anyEnded(keys, now):
		keys = without(keys, now)
	default:
		changed = false
	}
	r.keys.Store(&keys)
	if !changed {
		return nil
	}
	if err := write(r.cfg.Folder, r.purpose, keys); err != nil {
		return err
	}
	r.seen, err = os.Stat(name)
	return err
}

// reload takes the keys of a file that has changed, and removes keys that have ended from
// it; only for that it takes the lock, since requests wait for it. Unless always is true, the
// error is returned once for each change.
func (r *ring) reload(always bool) error {
	if r.cfg.Folder == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name, now := path(r.cfg.Folder, r.purpose), r.cfg.Now()
	if before := *r.keys.Load(); anyEnded(before, now) {
		left := without(before, now)
		r.keys.Store(&left)
		always = true
	}
	info, err := os.Stat(name)
	if err != nil {
		known := r.seen != nil
		if r.seen = nil; !known && !always {
			return nil // said before
		}
		return fmt.Errorf("%s cannot be read: %w: restore it, or restart the server, which makes a new one", name, err)
	}
	if r.seen != nil && sameFile(r.seen, info) && !always {
		return nil
	}
	// Before it is read: a replacement in between is seen the next time.
	r.seen = info
	if err := tighten(name, r.cfg.Log); err != nil {
		return err
	}
	keys, err := read(r.cfg.Folder, r.purpose)
	if err != nil {
		return err
	}
	left := without(keys, now)
	r.keys.Store(&left)
	if len(left) < len(keys) {
		return r.load(false /* first */)
	}
	return nil
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// find returns the key with an id, nil if none has it or the key has ended.
func (r *ring) find(id []byte) *key {
	keys, name := r.current(), hex.EncodeToString(id)
	at := slices.IndexFunc(keys, func(k key) bool { return k.ID == name })
	if at < 0 || keys[at].ended(r.cfg.Now()) {
		return nil
	}
	return &keys[at]
}
