package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store/boltstore/internal/layout"
)

// loadBytes is how many bytes of a copy a transaction writes.
const loadBytes = 8 << 20

// Load makes the file at path, which does not exist, from a copy. create makes its buckets. The
// file is durable when Load returns, and says that its derived buckets have to be made. After an
// error it has to be removed.
func Load(ctx context.Context, from io.Reader, path string, create func(*bolt.Tx) error) (_ Info, err error) {
	file, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return Info{}, fmt.Errorf("make %s: %w", path, err)
	}
	in := newInput(from)
	err = file.Update(create)
	for more := true; more && err == nil; {
		if err = context.Cause(ctx); err != nil {
			break
		}
		err = file.Update(func(tx *bolt.Tx) (err error) {
			more, err = in.load(tx)
			return err
		})
	}
	if err == nil {
		err = file.Sync()
	}
	return in.info, errors.Join(err, file.Close())
}

// load puts some records into a file, and reports whether there are more.
func (in *input) load(tx *bolt.Tx) (more bool, err error) {
	for until := in.info.Bytes + loadBytes; in.info.Bytes < until; {
		r, err := in.next()
		if err != nil {
			return false, err
		}
		if r == nil {
			return false, in.complete(tx)
		}
		b := tx.Bucket(r.bucket)
		b.FillPercent = layout.FillPercent
		if r.deleted {
			err = b.Delete(r.key)
		} else {
			err = b.Put(r.key, append([]byte(nil), r.value...)) // bbolt keeps it until the commit
		}
		if err != nil {
			return false, fmt.Errorf("write: %w", err)
		}
	}
	return true, nil
}

// auditStep separates the numbers of a restored audit from its numbers after the backup.
const auditStep = 1 << 32

// complete says in the meta data that derived buckets have to be made, and where the audit goes on:
// at new numbers, for readers that have read on after the backup.
func (in *input) complete(tx *bolt.Tx) error {
	newest, _ := tx.Bucket(layout.BucketAudit).Cursor().Last()
	next := (layout.ReadU64(newest)/auditStep + 1) * auditStep
	meta := tx.Bucket(layout.BucketMeta)
	return errors.Join(meta.Put(layout.KeyRebuild, layout.U64(1)), meta.Put(layout.KeyAudit, layout.U64(next)))
}
