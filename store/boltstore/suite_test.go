package boltstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/storetest"
)

// backend is a file under test.
type backend struct {
	path string
	opts boltstore.Options
	db   *boltstore.DB

	elapsed atomic.Int64 // ns
}

func (b *backend) Elapse(d time.Duration) { b.elapsed.Add(int64(d)) }

func (b *backend) open() (err error) {
	b.db, err = b.opts.Open(b.path)
	return err
}

func (b *backend) Handle() (store.Handle, error) { return b.db.Handle() }
func (b *backend) Rebuild() error                { return b.db.Rebuild(context.Background()) }

// Close also checks that a copy of the file would be taken.
func (b *backend) Close() error { return errors.Join(b.db.Close(), boltstore.CheckWhole(b.path)) }

func (b *backend) Reopen() error {
	if err := b.Close(); err != nil {
		return err
	}
	return b.open()
}

func suite(t *testing.T, opts boltstore.Options) {
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		b := &backend{path: filepath.Join(t.TempDir(), "store.db"), opts: opts}
		b.opts.Window = storetest.Window
		b.opts.Running = func() time.Duration { return time.Duration(b.elapsed.Load()) }
		if err := b.open(); err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func TestSuite(t *testing.T) {
	t.Parallel()
	suite(t, boltstore.Options{Ahead: 1 << 20}) // hundreds of them are open at once
}

// Nor must it who reads the pages.
func TestSuitePlainReads(t *testing.T) {
	t.Parallel()
	suite(t, boltstore.Options{PlainReads: true, Ahead: 1 << 20})
}

// A file that outgrows its map again and again, and tails that hold next to
// nothing, must make no difference.
func TestSuiteSmall(t *testing.T) {
	t.Parallel()
	suite(t, boltstore.Options{InitialMmapSize: 64 << 10, TailBytes: 4 << 10, Ahead: -1})
}

// Nor must pages that hold little, so that there are many levels of them.
func TestSuiteSmallPages(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		b := &backend{path: filepath.Join(t.TempDir(), "store.db"), opts: boltstore.Options{InitialMmapSize: 64 << 10, Ahead: -1, Window: storetest.Window}}
		b.opts.Running = func() time.Duration { return time.Duration(b.elapsed.Load()) }
		whole := filepath.Join(t.TempDir(), "whole.db")
		db, err := boltstore.Options{Ahead: -1}.Open(whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		from, err := bolt.Open(whole, 0o600, &bolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		to, err := bolt.Open(b.path, 0o600, &bolt.Options{PageSize: 1024})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(bolt.Compact(to, from, 1<<20), to.Close(), from.Close(), b.open()); err != nil {
			t.Fatal(err)
		}
		return b
	})
}

// noise returns bytes that cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says crypto/rand
	return b
}
