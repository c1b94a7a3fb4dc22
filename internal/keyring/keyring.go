// Package keyring keeps the server's own keys: those by which it recognizes what it has made
// itself. There is one file for each purpose, in a folder of the data folder. A new key takes
// the place of the old one with [Rotate]; what the old one has made is accepted for another
// day. The package does not know what is authenticated.
//
// What happens to a file:
//
//   - it is missing at the start: one with a new key is made;
//   - it is damaged, of a newer version, or everybody may read or write it: the start is
//     refused, because only a person knows whether a backup is better than a new key;
//   - its group may read or write it: that right is taken away, and the log says so;
//   - while the server runs, any of this, and a file that is missing: the keys in use stay,
//     and the log says what is wrong.
package keyring

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/privatefile"
)

// Purpose is what a key is for. No key is for two purposes.
type Purpose string

// PageTokens are the tokens with which clients ask for the next page of a list.
const PageTokens Purpose = "page-tokens"

// Purposes returns all purposes.
func Purposes() []Purpose { return []Purpose{PageTokens} }

// lost says what a new key costs if the old one is lost.
func (p Purpose) lost() string {
	if p == PageTokens {
		return "lists that clients are paging through have to begin again"
	}
	return "what the old keys have made is not accepted"
}

// Overlap is how long a key is accepted after another one has taken its place.
const Overlap = 24 * time.Hour

// noticing is how often a running server looks whether its files have changed.
const noticing = 10 * time.Second

// Config configures a Keyring.
type Config struct {
	Folder string           // of the files, made if it is missing; "": the keys are in memory only
	Now    func() time.Time // Defaults to time.Now.
	Log    zerolog.Logger
}

// Keyring has the keys of all purposes. It is safe for concurrent use.
type Keyring struct {
	cfg  Config
	macs map[Purpose]*MAC
}

// Open reads the keys, and makes those that are missing. Only one process at a time may have
// a folder open; [Rotate] may be called by others.
func Open(cfg Config) (*Keyring, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Folder != "" {
		if err := makeFolder(cfg.Folder, cfg.Log); err != nil {
			return nil, fmt.Errorf("folder of the server's own keys: %w", err)
		}
	}
	k := &Keyring{cfg: cfg, macs: map[Purpose]*MAC{}}
	for _, p := range Purposes() {
		m := &MAC{cfg: cfg, purpose: p}
		if err := m.open(); err != nil {
			return nil, fmt.Errorf("the server's own keys: %w", err)
		}
		k.macs[p] = m
	}
	return k, nil
}

// MAC returns what makes and checks the codes of a purpose.
func (k *Keyring) MAC(p Purpose) *MAC { return k.macs[p] }

// Reload reads the files again, if they have changed, and removes keys that have ended from
// them. If a file is not valid, the keys in use stay, and the error says why.
func (k *Keyring) Reload() error {
	if k.cfg.Folder != "" {
		if err := tighten(k.cfg.Folder, k.cfg.Log); err != nil {
			return fmt.Errorf("folder of the server's own keys: %w", err)
		}
	}
	var errs []error
	for _, p := range Purposes() {
		errs = append(errs, k.macs[p].reload(true))
	}
	return errors.Join(errs...)
}

// Rotate makes a new key for a purpose. The old one is accepted until the time that it
// returns. A running server takes the new one within seconds. The error is [fs.ErrNotExist]
// if there is no file yet.
func Rotate(folder string, p Purpose, now time.Time) (until time.Time, err error) {
	if !slices.Contains(Purposes(), p) {
		return time.Time{}, fmt.Errorf("there are no keys for %q", p)
	}
	if _, err := os.Stat(folder); err != nil {
		return time.Time{}, err
	}
	unlock, err := privatefile.Lock(folder)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	if err := privatefile.Sweep(path(folder, p)); err != nil {
		return time.Time{}, err
	}
	before, err := read(folder, p)
	if err != nil {
		return time.Time{}, err
	}
	keys := without(before, now)
	if len(keys) == maxKeys {
		return time.Time{}, fmt.Errorf("there are %d keys for %s that are still accepted: wait until %s", maxKeys, p, keys[maxKeys-1].Until.Format(time.RFC3339))
	}
	until = now.UTC().Truncate(time.Second).Add(Overlap)
	keys[0].Until = until
	return until, write(folder, p, append([]key{newKey(now, keys)}, keys...))
}

// The sizes of a tag, in bytes: the id of its key, and a truncated HMAC-SHA256.
const (
	idSize  = 4
	macSize = 16
	TagSize = idSize + macSize
)

// MAC makes and checks message authentication codes. It is safe for concurrent use.
type MAC struct {
	cfg     Config
	purpose Purpose
	keys    atomic.Pointer[[]key]
	looked  atomic.Int64 // when the file was last looked at, in Unix nanoseconds

	mu   sync.Mutex
	seen fs.FileInfo // the file that was read last, valid or not; nil: there was none
}

// Tag returns the code of data, of [TagSize] bytes.
func (m *MAC) Tag(data []byte) []byte {
	k := &m.current()[0]
	tag, err := hex.AppendDecode(make([]byte, 0, idSize+sha256.Size), []byte(k.ID))
	if err != nil {
		return nil // never: the id was checked
	}
	return sum(tag, k, data)[:TagSize]
}

// Verify reports whether a tag is the code of data by a key that is in use or was during the
// last day.
func (m *MAC) Verify(data, tag []byte) bool {
	if len(tag) != TagSize {
		return false
	}
	keys, now := m.current(), m.cfg.Now()
	id := hex.EncodeToString(tag[:idSize])
	at := slices.IndexFunc(keys, func(k key) bool { return k.ID == id })
	if at < 0 || keys[at].ended(now) {
		return false
	}
	return hmac.Equal(tag[idSize:], sum(nil, &keys[at], data)[:macSize])
}

func sum(to []byte, k *key, data []byte) []byte {
	h := hmac.New(sha256.New, k.Secret)
	_, _ = h.Write(data) // it never fails
	return h.Sum(to)
}

// current returns the keys, newest first. Once in a while it looks for a new file.
func (m *MAC) current() []key {
	if m.cfg.Folder != "" {
		now, looked := m.cfg.Now().UnixNano(), m.looked.Load()
		if since := now - looked; (since >= int64(noticing) || since < 0) && m.looked.CompareAndSwap(looked, now) {
			if err := m.reload(false); err != nil {
				m.cfg.Log.Error().Err(err).Msg("a file of the server's own keys has changed and is not valid: the keys in use stay")
			}
		}
	}
	return *m.keys.Load()
}

// open reads the keys at the start, and makes them if there are none.
func (m *MAC) open() error {
	now := m.cfg.Now()
	m.looked.Store(now.UnixNano())
	if m.cfg.Folder == "" {
		m.keys.Store(&[]key{newKey(now, nil)})
		return nil
	}
	unlock, err := privatefile.Lock(m.cfg.Folder)
	if err != nil {
		return err
	}
	defer unlock()
	name := path(m.cfg.Folder, m.purpose)
	if err := privatefile.Sweep(name); err != nil {
		return err
	}
	if err := tighten(name, m.cfg.Log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	keys, err := read(m.cfg.Folder, m.purpose)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		keys = []key{newKey(now, nil)}
		err = write(m.cfg.Folder, m.purpose, keys)
	case err == nil && anyEnded(keys, now):
		keys = without(keys, now)
		err = write(m.cfg.Folder, m.purpose, keys)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	m.seen = info
	m.keys.Store(&keys)
	return nil
}

// reload takes the keys of a file that has changed, and removes keys that have ended from
// it. Unless always is true, the error is returned once for each change.
func (m *MAC) reload(always bool) error {
	if m.cfg.Folder == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name, now := path(m.cfg.Folder, m.purpose), m.cfg.Now()
	if before := *m.keys.Load(); anyEnded(before, now) {
		left := without(before, now)
		m.keys.Store(&left)
		always = true
	}
	info, err := os.Stat(name)
	if err != nil {
		known := m.seen != nil
		if m.seen = nil; !known && !always {
			return nil // said before
		}
		return fmt.Errorf("%s cannot be read: %w: restore it, or restart the server, which makes a new one", name, err)
	}
	if m.seen != nil && sameFile(m.seen, info) && !always {
		return nil
	}
	// Before it is read: what is replaced in between is seen the next time.
	m.seen = info
	if err := tighten(name, m.cfg.Log); err != nil {
		return err
	}
	keys, err := read(m.cfg.Folder, m.purpose)
	if err != nil {
		return err
	}
	left := without(keys, now)
	m.keys.Store(&left)
	if len(left) < len(keys) {
		return m.prune(now)
	}
	return nil
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// prune removes the keys that have ended from the file.
func (m *MAC) prune(now time.Time) error {
	unlock, err := privatefile.Lock(m.cfg.Folder)
	if err != nil {
		return err
	}
	defer unlock()
	keys, err := read(m.cfg.Folder, m.purpose) // somebody may have rotated them
	if err != nil {
		return err
	}
	keys = without(keys, now)
	if err := write(m.cfg.Folder, m.purpose, keys); err != nil {
		return err
	}
	m.keys.Store(&keys)
	return nil
}
