package a2aserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"a2a-server/internal/app/config"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
)

// backend is the open store.
type backend struct {
	handle      store.Handle
	incarnation uint64
	err         func() error // nil while it has not ended for good
	trouble     func() error // why it cannot write; nil: it can
	note        string       // what the operator should know about the file; may be ""
	close       func() error // commits what is queued; called once
}

// openStore opens the store that c.Store names: bolt, bolt:PATH or memory.
func openStore(c *config.Config, hook func(string)) (*backend, error) {
	kind, path, _ := strings.Cut(c.Store, ":")
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
		if path == "" {
			path = filepath.Join(c.Data, "tasks.db")
		}
		db, err := boltstore.Options{Hook: hook}.Open(path)
		if err != nil {
			return nil, err
		}
		h, err := db.Handle()
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		b := useStore(h)
		b.note, b.close = db.Note(), db.Close
		return b, nil
	default:
		return nil, fmt.Errorf("%w: unknown store %q: use bolt, bolt:PATH or memory", ErrConfig, c.Store)
	}
}

// useStore returns a backend for an open store, which it does not close.
func useStore(h store.Handle) *backend {
	nothing := func() error { return nil }
	b := &backend{handle: h, incarnation: rand.Uint64(), err: nothing, trouble: nothing, close: nothing}
	if s, ok := h.(interface{ Incarnation() uint64 }); ok {
		b.incarnation = s.Incarnation()
	}
	if s, ok := h.(interface{ Err() error }); ok {
		b.err = s.Err
	}
	if s, ok := h.(interface{ Trouble() error }); ok {
		b.trouble = s.Trouble
	}
	return b
}
