// Package keyring keeps the server's own keys: keys that sign its own data, and keys that seal
// secrets of clients. Each purpose has a file, in a folder of the data folder. A new key
// replaces the old key with [Rotate]; signatures of the old key are accepted for another day,
// sealed secrets for a year. The package does not know the meaning of the signed or sealed data.
//
// Faults of a file:
//
//   - it is missing at the start: a file with a new key is made;
//   - it is damaged, of a newer version, or readable or writable for all users: the start is
//     refused, because only a person knows whether a backup is better than a new key;
//   - its group may read or write it: that right is removed, and the log says so;
//   - while the server runs, any of this, or a missing file: the keys in use stay, and the log
//     has the fault.
package keyring

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/lists"
	"a2a-server/internal/privatefile"
)

// The times for which a replaced key is accepted.
const (
	Overlap     = 24 * time.Hour
	SealOverlap = 366 * 24 * time.Hour // a key that seals
)

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
	cfg   Config
	rings map[Purpose]*ring
}

// Open reads the keys, and makes missing keys. Only a single process at a time may have a
// folder open; other processes may call [Rotate].
func Open(cfg Config) (*Keyring, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Folder != "" {
		if err := makeFolder(cfg.Folder, cfg.Log); err != nil {
			return nil, fmt.Errorf("folder of the server's own keys: %w", err)
		}
	}
	k := &Keyring{cfg: cfg, rings: map[Purpose]*ring{}}
	for _, p := range Purposes() {
		r := &ring{cfg: cfg, purpose: p}
		if err := r.open(); err != nil {
			return nil, fmt.Errorf("the server's own keys: %w", err)
		}
		k.rings[p] = r
	}
	return k, nil
}

// Signer returns the signer of a purpose that has one.
func (k *Keyring) Signer(p Purpose) *Signer { return &Signer{k.rings[p]} }

// Sealer returns the sealer of a purpose that has one.
func (k *Keyring) Sealer(p Purpose) *Sealer { return &Sealer{k.rings[p]} }

// Reload reads the files again, if they have changed, and removes keys that have ended from
// them. If a file is not valid, the keys in use stay, and the error says why.
func (k *Keyring) Reload() error {
	if k.cfg.Folder != "" {
		if err := tighten(k.cfg.Folder, k.cfg.Log); err != nil {
			return fmt.Errorf("folder of the server's own keys: %w", err)
		}
	}
	return errors.Join(lists.Map(Purposes(), func(p Purpose) error { return k.rings[p].reload(true) })...)
}

// Rotate makes a new key for a purpose. The old key is accepted until the returned time. A
// running server takes the new key within seconds. The error is [fs.ErrNotExist] if there is
// no file yet.
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
	until = now.UTC().Truncate(time.Second).Add(p.terms().overlap)
	keys[0].Until = until
	return until, write(folder, p, append([]key{newKey(p, now, keys)}, keys...))
}
