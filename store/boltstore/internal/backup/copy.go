package backup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/pages"
	"a2a-server/store/boltstore/internal/writer"
)

// The limits of a read transaction, which keeps pages from being used again: while one is open for
// seconds, each commit takes new pages, and the file doubles.
const (
	sliceBytes = 1 << 20
	sliceTime  = 10 * time.Millisecond
	lastKeys   = 500 // that the last transaction reads
	maxPasses  = 100 // before it, however many keys are left
	maxRest    = 100 * time.Millisecond
)

// Copy writes a copy of a file that w may be writing. Its read transactions are short: first it
// copies every bucket from the beginning to the end, then the keys that the writer has changed
// meanwhile, until few are left, and these in the last transaction, which is the moment of the
// copy.
func Copy(ctx context.Context, file *boltfile.File, w *writer.Writer, to io.Writer) (info Info, err error) {
	c := copier{output: newOutput(to)}
	c.view = func(fn func(*pages.Image) error) error {
		return file.View(ctx, func(tx *bolt.Tx) error {
			began := time.Now()
			defer func() { c.info.Longest = max(c.info.Longest, time.Since(began)) }()
			return pages.Read(tx, fn)
		})
	}
	defer func() {
		if err != nil {
			c.fail(err)
		}
	}()
	noted, end, err := writer.Note(ctx, w)
	if err != nil {
		return info, err
	}
	defer end()
	c.noted = noted
	if err := c.all(); err != nil {
		return info, err
	}
	for n := 0; n < maxPasses && c.noted.Len() > lastKeys; n++ {
		if err := c.pass(c.noted.Take()); err != nil {
			return info, err
		}
	}
	if err := c.ends(); err != nil { // of log and audit, so that little is left of them
		return info, err
	}
	return c.last(store.MillisOf(time.Now()))
}

// Plain describes the file of [CopyPlain].
type Plain struct {
	Copied  bool                                 // a copy of a store, of an unknown moment; else a store that is closed
	Changed store.Millis                         // when the file was last changed
	Examine func(*boltfile.File, *bolt.Tx) error // refuses a file
}

// CopyPlain writes a copy of the file at path, which nothing writes. It fails if a page is damaged.
// Of a file that is a copy itself it fails if a value is damaged or a log lacks one, and takes the
// newest status of a task for its moment.
func CopyPlain(ctx context.Context, path string, to io.Writer, is Plain) (info Info, err error) {
	out := newOutput(to)
	defer func() {
		if err != nil {
			out.fail(err)
		}
	}()
	err = boltfile.OpenPlain(path, func(file *boltfile.File, tx *bolt.Tx) error {
		if err := is.Examine(file, tx); err != nil {
			return err
		}
		return pages.Read(tx, func(im *pages.Image) (err error) {
			c := copier{output: out, view: func(fn func(*pages.Image) error) error {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				return fn(im)
			}}
			info, err = c.plain(im, is)
			return err
		})
	})
	if errors.Is(err, store.ErrDataLoss) {
		err = fmt.Errorf("%w: %s: %w", store.ErrDamaged, path, err)
	}
	return info, err
}

// plain copies the file of [CopyPlain].
func (c *copier) plain(im *pages.Image, is Plain) (info Info, err error) {
	moment := store.MillisOf(time.Now())
	if is.Copied {
		newest, err := whole(im)
		if err != nil {
			return info, err
		}
		if moment = is.Changed; newest > 0 {
			moment = min(moment, newest)
		}
	}
	if err := c.all(); err != nil {
		return info, err
	}
	if is.Copied && c.info.Damaged > 0 {
		return info, fmt.Errorf("%w: %d of its values are damaged", store.ErrDataLoss, c.info.Damaged)
	}
	return c.last(moment)
}

// whole returns an error unless the log has as many values of each task as its header counts, and
// the time of the newest status.
func whole(im *pages.Image) (newest store.Millis, err error) {
	values := map[store.TaskID]uint64{}
	log := im.Bucket(layout.BucketLog).Cursor()
	for k, v := log.First(); k != nil; k, v = log.Next() {
		r := layout.NewReader(layout.BucketLog, k, v)
		h := r.Head(k, true /* check */)
		if r.Err != nil {
			return 0, fmt.Errorf("a value of the log is damaged: %w", r.Err)
		}
		values[h.Task]++
	}
	tasks := im.Bucket(layout.BucketTask).Cursor()
	for k, v := tasks.First(); k != nil; k, v = tasks.Next() {
		if len(k) != len(store.TaskID{}) {
			return 0, fmt.Errorf("%w: %x is not the id of a task", store.ErrDataLoss, k)
		}
		t, err := layout.DecodeHeader(store.TaskID(k), v)
		if err != nil {
			return 0, err
		}
		if values[t.Task] != t.Values {
			return 0, fmt.Errorf("%w: the log of task %s has %d values, and its header counts %d: it was copied while a server was writing", store.ErrDataLoss, t.Task, values[t.Task], t.Values)
		}
		delete(values, t.Task)
		newest = max(newest, t.StatusTime)
	}
	if len(values) > 0 {
		return 0, fmt.Errorf("%w: the log has values of %d tasks without a header: it was copied while a server was writing", store.ErrDataLoss, len(values))
	}
	return newest, nil
}

// copier copies a file.
type copier struct {
	*output
	view  func(fn func(*pages.Image) error) error // runs fn in a read transaction
	noted *writer.Noted                           // nil: nothing is written
	log   []byte                                  // the newest key that was copied of the log
	audit []byte                                  // … and of the audit
}

// all copies every bucket once. Values at the end of log and audit that were added meanwhile are
// left to the end.
func (c *copier) all() (err error) {
	if err := c.ends(); err != nil {
		return err
	}
	for _, bucket := range [][]byte{layout.BucketTask, layout.BucketRow, layout.BucketDue} {
		if _, err := c.bucket(bucket, nil); err != nil {
			return err
		}
	}
	return nil
}

// ends copies the values after the newest keys that were copied of log and audit.
func (c *copier) ends() (err error) {
	if c.log, err = c.bucket(layout.BucketLog, c.log); err != nil {
		return err
	}
	c.audit, err = c.bucket(layout.BucketAudit, c.audit)
	return err
}

// bucket copies the values of a bucket after a key, and returns the last key.
func (c *copier) bucket(name, after []byte) (last []byte, err error) {
	for more := true; more; {
		began := time.Now()
		if err := c.view(func(im *pages.Image) error {
			after, more = c.slice(im, name, after, time.Now().Add(sliceTime))
			return nil
		}); err != nil {
			return nil, err
		}
		if err := c.flush(); err != nil {
			return nil, err
		}
		c.rest(began)
	}
	return after, nil
}

// slice copies some values of a bucket after a key, and returns the last key and whether there are
// more.
func (c *copier) slice(im *pages.Image, name, after []byte, until time.Time) (last []byte, more bool) {
	cursor := im.Bucket(name).Cursor()
	k, v := cursor.First()
	if after != nil {
		k, v = cursor.Seek(append(bytes.Clone(after), 0))
	}
	for n := 1; k != nil; n++ {
		c.value(name, k, v)
		if after = k; len(c.part) >= sliceBytes || n%64 == 0 && time.Now().After(until) {
			return bytes.Clone(after), true
		}
		k, v = cursor.Next()
	}
	return bytes.Clone(after), false
}

func (c *copier) value(bucket, key, value []byte) {
	if layout.Check(bucket, key, value) != nil {
		c.info.Damaged++ // it stays as it is: reading its task says so
	}
	c.put(bucket, key, value)
}

// pass copies the present values of keys.
func (c *copier) pass(keys map[writer.NotedKey]struct{}) error {
	order := make([]writer.NotedKey, 0, len(keys))
	for k := range keys {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b writer.NotedKey) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Key, b.Key))
	})
	for len(order) > 0 {
		began := time.Now()
		if err := c.view(func(im *pages.Image) error {
			until, n := time.Now().Add(sliceTime), 0
			for n < len(order) && len(c.part) < sliceBytes && (n%64 != 0 || n == 0 || time.Now().Before(until)) {
				c.now(im, order[n])
				n++
			}
			order = order[n:]
			return nil
		}); err != nil {
			return err
		}
		if err := c.flush(); err != nil {
			return err
		}
		c.rest(began)
	}
	return nil
}

// rest leaves the disk and a processor to the server for three times as long as the last part took,
// or for maxRest if its reader is slow.
func (c *copier) rest(began time.Time) {
	if c.noted != nil {
		time.Sleep(min(3*time.Since(began), maxRest))
	}
}

// now copies the present value of a key.
func (c *copier) now(im *pages.Image, k writer.NotedKey) {
	bucket, key := []byte(k.Bucket), []byte(k.Key)
	if value := im.Bucket(bucket).Get(key); value != nil {
		c.value(bucket, key, value)
	} else {
		c.delete(bucket, key)
	}
}

// last completes the copy in one transaction, which begins after the moment.
func (c *copier) last(moment store.Millis) (Info, error) {
	if err := c.view(func(im *pages.Image) error {
		// What was noted so far has everything that this transaction sees, and perhaps more.
		if c.noted != nil {
			for k := range c.noted.Take() {
				c.now(im, k)
			}
		}
		never := time.Now().Add(time.Hour)
		for _, end := range []struct{ name, after []byte }{{layout.BucketLog, c.log}, {layout.BucketAudit, c.audit}} {
			for more := true; more; {
				end.after, more = c.slice(im, end.name, end.after, never)
			}
		}
		meta := im.Bucket(layout.BucketMeta)
		for _, key := range [][]byte{layout.KeyEpoch, layout.KeyCreated} {
			if value := meta.Get(key); value != nil {
				c.put(layout.BucketMeta, key, value)
			}
		}
		return nil
	}); err != nil {
		return Info{}, err
	}
	if err := c.end(moment); err != nil {
		return Info{}, err
	}
	return c.info, nil
}
