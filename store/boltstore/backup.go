package boltstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/backup"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/writer"
)

// Backup describes a backup.
type Backup = backup.Info

// ErrNotBackup says that a file is no backup that this program has made.
var ErrNotBackup = backup.ErrNotBackup

// ErrInUse says that another process has the file of a store open.
var ErrInUse = boltfile.ErrInUse

// Backup writes a backup of the store, of one moment, while the store is used. It ends in a
// checksum, which [VerifyBackup] and [Options.Restore] compare. Its read transactions take
// milliseconds, so that the store neither slows down nor grows. At most one backup is made at a
// time. After an error the backup is not usable, and says so.
func (db *DB) Backup(ctx context.Context, to io.Writer) (Backup, error) {
	b, err := backup.Copy(ctx, db.file, db.writer, to)
	if err != nil {
		return Backup{}, fmt.Errorf("back up the store: %w", err)
	}
	return b, nil
}

// BackedUp records that a backup of a moment was verified, so that [DB.LastBackup] knows it after a
// restart. An older moment than the newest changes nothing.
func (db *DB) BackedUp(ctx context.Context, moment time.Time) error {
	ms := store.MillisOf(moment)
	if err := writer.PutBackup(ctx, db.writer, ms); err != nil {
		return err
	}
	for newest := db.backup.Load(); newest < uint64(ms) && !db.backup.CompareAndSwap(newest, uint64(ms)); {
		newest = db.backup.Load()
	}
	return nil
}

// LastBackup returns the moment of the newest backup that was verified, in UTC; zero: none is known.
func (db *DB) LastBackup() (at time.Time) {
	if ms := db.backup.Load(); ms > 0 {
		at = store.Millis(ms).Time()
	}
	return at
}

// BackupPlain writes a backup of the file at path, which nothing writes: that of a store that is
// closed or, with copied, a plain copy of one. It reads all of the file, and fails if a page is
// damaged. A store that is closed it refuses as [Options.Open] does, such as an earlier version. In a copy no
// value may be damaged and no log may lack one; whether it is of one moment BackupPlain cannot know. The
// moment of a copy is the newest that its tasks know, or when the file was last changed.
func BackupPlain(ctx context.Context, path string, to io.Writer, copied bool) (Backup, error) {
	file, err := os.Stat(path)
	if err != nil {
		return Backup{}, err
	}
	if !file.Mode().IsRegular() {
		return Backup{}, fmt.Errorf("%s is not a regular file", path)
	}
	is := backup.Plain{Copied: copied, Changed: store.MillisOf(file.ModTime()), Examine: func(file *boltfile.File, tx *bolt.Tx) error {
		if err := checkBuckets(path, tx, true); err != nil {
			return err
		}
		if copied {
			return layout.CheckFormat(path, layout.ReadU64(tx.Bucket(layout.BucketMeta).Get(layout.KeyFormat)))
		}
		c := contents{remake: true} // indexes are no part of a backup
		_, err := c.examine(file, tx)
		return err
	}}
	return backup.CopyPlain(ctx, path, to, is)
}

// VerifyBackup reads a backup to its end and compares its checksum. It returns [ErrNotBackup] if
// it does not begin as a backup does.
func VerifyBackup(from io.Reader) (Backup, error) { return backup.Verify(from) }

// Restore makes the store file at path from a backup. It appears there when it is complete and
// durable, and begin, which is called with a handle of it, has returned nil. A crash leaves at most
// a file whose name begins with a dot, which the next Restore replaces; until then [Options.Open]
// makes no new store beside it. Made by root, the file belongs to the owner of its folder. It
// returns an error that wraps [os.ErrExist] if there is a file at path.
func (o Options) Restore(ctx context.Context, from io.Reader, path string, begin func(context.Context, store.Handle, Backup) error) (b Backup, err error) {
	unlock, err := boltfile.LockFolder(filepath.Dir(path)) // one at a time
	if err != nil {
		return b, fmt.Errorf("restore %s: %w", path, err)
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return b, cmp.Or(err, fmt.Errorf("%s: %w", path, os.ErrExist))
	}
	draft := boltfile.Draft(path)
	if err := remove(draft); err != nil {
		return b, fmt.Errorf("remove what is left of an earlier restore: %w", err)
	}
	defer func() { err = errors.Join(err, remove(draft), remove(recordsPath(draft))) }()
	if b, err = backup.Load(ctx, from, draft, makeBuckets); err != nil {
		return b, err
	}
	if err := o.begin(ctx, draft, b, begin); err != nil {
		return b, err
	}
	if err := giveToOwner(draft, func(uid, gid int) error { return os.Chown(draft, uid, gid) }); err != nil {
		return b, err
	}
	return b, boltfile.Publish(draft, path)
}

// giveToOwner calls chown, for a file that root has made, with the owner of its folder: the server's
// user.
func giveToOwner(path string, chown func(uid, gid int) error) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		return chown(int(of.Uid), int(of.Gid))
	}
	return nil
}

// begin opens a new file for the first time, makes its derived buckets, and calls begin.
func (o Options) begin(ctx context.Context, path string, b Backup, begin func(context.Context, store.Handle, Backup) error) (err error) {
	db, err := o.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h, err := db.Handle() //nolint:contextcheck // likewise
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return begin(ctx, h, b)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
