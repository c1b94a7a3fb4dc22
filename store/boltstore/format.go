package boltstore

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
)

// contents is the meta data of a file.
type contents struct {
	incarnation uint64
	epoch       uint64
	backup      store.Millis // moment of the newest backup that was verified; 0: none is known
	incomplete  bool         // the derived buckets have to be made
	remake      bool         // likewise, because a transaction has failed: they may not fit the tasks
	damaged     bool         // with remake: their pages are damaged, and cannot be read
}

// prepare refuses a file that is not a store, or of another format, and records which file it is.
func (c *contents) prepare(file *boltfile.File) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = boltfile.DamagedFile(file.Path(), p)
		}
	}()
	ready := false
	err = file.Bolt().View(func(tx *bolt.Tx) error {
		ready, err = c.examine(file, tx)
		return err
	})
	if err != nil {
		return err
	}
	if !ready || c.remake {
		if err := file.Bolt().Update(func(tx *bolt.Tx) error {
			meta := tx.Bucket(layout.BucketMeta)
			if err := errors.Join(meta.Delete(layout.KeyReleased), meta.Put(layout.KeyFile, file.Identity())); err != nil || !c.remake {
				return err
			}
			return drop(tx, c.damaged)
		}); err != nil {
			return fmt.Errorf("open store %s: %w", file.Path(), err)
		}
	}
	if c.incomplete || c.remake {
		return derive(file.Bolt())
	}
	return nil
}

// examine refuses what prepare refuses, and reports whether the file says which file it is.
func (c *contents) examine(file *boltfile.File, tx *bolt.Tx) (ready bool, err error) {
	if err := checkBuckets(file.Path(), tx, c.remake); err != nil {
		return false, err
	}
	meta := tx.Bucket(layout.BucketMeta)
	have := layout.ReadU64(meta.Get(layout.KeyFormat))
	if have == 0 {
		return false, boltfile.DamagedFile(file.Path(), "it has no format")
	}
	if err := layout.CheckFormat("store "+file.Path(), have); err != nil {
		return false, err
	}
	c.incomplete = meta.Get(layout.KeyRebuild) != nil
	c.incarnation, c.epoch = layout.ReadU64(meta.Get(layout.KeyIncarnation)), layout.ReadU64(meta.Get(layout.KeyEpoch))
	c.backup = store.Millis(layout.ReadU64(meta.Get(layout.KeyBackup)))
	known := meta.Get(layout.KeyFile)
	if err := checkVersion(file, known, meta.Get(layout.KeyReleased) != nil, commitRecord{c.incarnation, c.epoch, uint64(tx.ID())}); err != nil {
		return false, err
	}
	return bytes.Equal(known, file.Identity()), nil
}

// Check returns why [Options.Open] would refuse the file at path, as far as reading it shows. It
// changes nothing; [ErrInUse] says that a process has it open. Without a file it is nil. each is called with the
// header of each task that can be read, until an error; nil: tasks are not read.
func Check(path string, each func(*store.Header)) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0) // as Open does
	switch {
	case errors.Is(err, os.ErrNotExist):
		return boltfile.CheckDraft(path)
	case err != nil:
		return fmt.Errorf("open store: %w", err)
	}
	_ = file.Close() // nothing was written
	earlier, err := afterFailure(path)
	if err != nil {
		return err
	}
	return boltfile.OpenPlain(path, func(file *boltfile.File, tx *bolt.Tx) error {
		c := contents{remake: earlier.remakes()}
		if _, err := c.examine(file, tx); err != nil || each == nil {
			return err
		}
		return tx.Bucket(layout.BucketTask).ForEach(func(k, v []byte) error {
			if t, err := layout.DecodeHeader(store.TaskID(k), v); err == nil && t.Visible() {
				each(&t.Header)
			}
			return nil
		})
	})
}

// isCopyOf reports whether the file is a copy of the file that its meta data name. Nil names no file.
func isCopyOf(file *boltfile.File, known []byte) bool {
	return known != nil && boltfile.Copied(known, file.Identity())
}

// checkBuckets refuses a file that lacks a bucket of ours, except for the derived if they are to be made.
func checkBuckets(path string, tx *bolt.Tx, remake bool) error {
	for _, name := range layout.Buckets {
		isDerived := layout.IsDerived(name)
		if tx.Bucket(name) == nil && (!remake || !isDerived) {
			return boltfile.DamagedFile(path, fmt.Sprintf("it has no bucket %s, so it is not a store of this program, or parts of it are lost", name))
		}
	}
	return nil
}

// makeBuckets creates the buckets and meta data of a new file.
func makeBuckets(tx *bolt.Tx) error {
	for _, name := range layout.Buckets {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	meta := tx.Bucket(layout.BucketMeta)
	return errors.Join(
		meta.Put(layout.KeyCreated, layout.U64(uint64(time.Now().UnixMilli()))),
		meta.Put(layout.KeyIncarnation, newIncarnation()),
		meta.Put(layout.KeyEpoch, layout.U64(0)),
		meta.Put(layout.KeyFormat, layout.U64(layout.Format)),
	)
}

func newIncarnation() []byte {
	var n [8]byte
	_, _ = rand.Read(n[:]) // never fails, says crypto/rand
	return n[:]
}
