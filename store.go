package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"a2a-server/internal/keyring"
	"a2a-server/internal/metrics"
	"a2a-server/internal/privatefile"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
)

// backend is the open store.
type backend struct {
	handle      store.Handle
	incarnation uint64
	err         func() error                                                     // nil while it has not ended for good
	trouble     func() error                                                     // why it cannot write; nil: it can
	usage       func(context.Context) (used, free uint64, known bool, err error) // of the disk; nil: there is none
	file        *boltstore.DB                                                    // nil: the store is not a file, or not the Server's own
	note        string                                                           // the state of the file for the operator; may be ""
	close       func() error                                                     // commits the queued writes; called once
}

// DamageError is the error of [New] if the store is damaged, and of [Server.Run] if the server has ended
// because a transaction of the store met damage or a bug of this program. Its text is a line with the
// next step. After Run has returned it, the process has to end before it can open the store again: the
// lock of the file goes with the process.
type DamageError = boltstore.DamageError

// checkData returns why the data folder, if it exists, cannot be used.
func (c *Config) checkData() error {
	if err := privatefile.CheckWriters(c.Settings.Data); err != nil {
		return fmt.Errorf("%w: data: %w", ErrConfig, err)
	}
	return c.checkLost()
}

// checkLost returns an error if the data folder had a store and its file is missing. The
// server's own keys are the mark: New makes them when the file is durable, so a first start
// that a crash cuts off is not refused later. They are looked for first, because another
// process may be at its first start.
func (c *Config) checkLost() error {
	folder := c.keysFolder()
	if folder == "" || c.Init {
		return nil
	}
	switch keys, err := os.ReadDir(folder); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("folder of the server's own keys: %w", err)
	case len(keys) == 0:
		return nil
	}
	_, path := c.Settings.StoreFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%[1]w: the data folder %[2]s was used by a server with a store, and the file %[3]s is missing: restore it from a backup (a2a-server store restore BACKUP --data %[2]s), or begin with an empty store: a2a-server serve --init, with the same other flags", ErrConfig, c.Settings.Data, path)
	}
	return nil // if something else is wrong with it, opening it reports that
}

// openStore opens the store that c.Store names, whose commits are measured.
func openStore(c *Settings, hook func(string), measured *metrics.Metrics) (*backend, error) {
	kind, path := c.StoreFile()
	switch kind {
	case "memory":
		db := memstore.New()
		h, err := db.Handle()
		if err != nil {
			return nil, err
		}
		b := useStore(h)
		b.close = db.Close
		return b, nil
	case "bolt":
		db, err := boltstore.Options{Hook: hook, Committed: measured.Committed}.Open(path)
		if err != nil {
			return nil, err
		}
		h, err := db.Handle()
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		b := useStore(h)
		b.note, b.close, b.usage, b.file = db.Note(), db.Close, db.Usage, db
		return b, nil
	default:
		return nil, fmt.Errorf("%w: unknown store %q: use bolt, bolt:PATH or memory", ErrConfig, c.Store)
	}
}

// useStore returns a backend for an open store, which it does not close.
func useStore(h store.Handle) *backend {
	nothing := func() error { return nil }
	b := &backend{handle: h, incarnation: h.Incarnation(), err: h.Err, trouble: h.Trouble, close: nothing}
	return b
}

// openKeys opens the server's own keys, in the data folder. Without a file of tasks there,
// they are in memory: the tokens that they authenticate end with the process too. Call it with
// the store open, which keeps other servers out of the folder.
func (c *Config) openKeys() (*keyring.Keyring, error) {
	return keyring.Open(keyring.Config{Folder: c.keysFolder(), Now: c.Now, Log: c.Log})
}

// keysFolder returns the folder of the server's own keys; "" if they are in memory.
func (c *Config) keysFolder() string {
	if c.Store != nil {
		return ""
	}
	return c.Settings.KeysFolder()
}
