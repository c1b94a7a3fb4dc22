package boltstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/pages"
)

// failed is the result of the check of a store in which a transaction of an earlier process has failed; see
// [boltfile.File.Break].
type failed struct {
	mark    boltfile.Mark
	other   bool   // the store that failed was another, which this replaces
	derived string // the damage of the derived buckets; "": there is none
	lost    int    // tasks and rows that cannot be read
}

// remakes reports whether the derived buckets are to be made again: they are damaged, or may not fit the
// tasks. Made again, they have no entries of unreadable values, so sound buckets stay beside that.
func (f *failed) remakes() bool { return f != nil && (f.derived != "" || !f.other && f.lost == 0) }

// afterFailure checks every page of the file at path if an earlier process has left a mark beside it.
// It refuses damage in other buckets than the derived. Nil: there is no mark, or no file.
func afterFailure(path string) (*failed, error) {
	mark, marked := boltfile.ReadMark(path)
	if !marked {
		return nil, nil
	}
	f := &failed{mark: mark}
	err := boltfile.OpenPlain(path, func(_ *boltfile.File, tx *bolt.Tx) error {
		return pages.Read(tx, func(im *pages.Image) error {
			damage := im.Check(layout.Derived, layout.BucketDropped, func(bucket, key, value []byte) error {
				err := layout.CheckEntry(bucket, key, value)
				if err == nil && !layout.Readable(bucket, key, value) {
					f.lost++
				}
				return err
			})
			var derived, others []string
			for _, name := range slices.Sorted(maps.Keys(damage)) {
				if layout.IsDerived([]byte(name)) {
					derived = append(derived, damage[name].Error())
				} else {
					others = append(others, damage[name].Error())
				}
			}
			if len(others) > 0 {
				return mark.Refuse(path, strings.Join(others, "; "))
			}
			f.derived = strings.Join(derived, "; ")
			f.other = mark.Incarnation != 0 && mark.Incarnation != layout.ReadU64(im.Bucket(layout.BucketMeta).Get(layout.KeyIncarnation))
			return nil
		})
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// text is the result for the operator.
func (f *failed) text(path string) string {
	lost := ""
	if f.lost > 0 {
		lost = fmt.Sprintf("damaged tasks and rows in %s: %d; each is an error or missing where it is read; check the disk, and restore a backup to have them", path, f.lost)
	}
	switch {
	case f.derived != "":
		made := fmt.Sprintf("an index of %s was damaged, and was made again from the tasks: check the disk, and make a backup (%s)", path, f.derived)
		if lost != "" {
			made += "; lists do not name what is damaged any more: " + lost
		}
		return made
	case lost != "":
		return lost
	case f.other:
		return ""
	}
	if f.mark.Time.IsZero() {
		return fmt.Sprintf("no page of %s is damaged, and its indexes were made again, because of a mark that does not say what happened", path)
	}
	return fmt.Sprintf("the server failed at %s, although no page of %s is damaged: that was a bug of this program, or memory that returns wrong data: please report it with this line", f.mark.Time.Format(time.RFC3339), path)
}
