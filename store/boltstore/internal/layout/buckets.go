// Package layout is the format of the file: its buckets, and the keys and values in them. It
// turns bytes into values and back, and reads and writes nothing itself. The documentation of
// package boltstore has the buckets at a glance.
package layout

import (
	"bytes"
	"fmt"
	"slices"
)

// The buckets of a file.
var (
	BucketMeta    = []byte("meta")
	BucketLog     = []byte("log")
	BucketTask    = []byte("task")
	BucketLive    = []byte("live")
	BucketList    = []byte("list")
	BucketListCtx = []byte("list.ctx")
	BucketRow     = []byte("row")
	BucketRowIdx  = []byte("rowidx")
	BucketDue     = []byte("due")
	BucketAudit   = []byte("audit")
)

// Format is the number of the format of a store and of its backups, and of everything in them. No other
// format is read.
const Format = 6

// CheckFormat refuses a store or a backup of another format.
func CheckFormat(name string, have uint64) error {
	switch {
	case have > Format:
		return fmt.Errorf("%s has format %d, and this program reads format %d: a newer program wrote it; use that program", name, have, Format)
	case have < Format:
		return fmt.Errorf("%s has format %d, and this program reads format %d: finish its work with the program that wrote it, or start with an empty data folder: a2a-server serve --init", name, have, Format)
	}
	return nil
}

// The keys of the bucket meta; see also [KeyRebuild].
var (
	KeyFormat      = []byte("format")
	KeyEpoch       = []byte("epoch")
	KeyCreated     = []byte("created")
	KeyIncarnation = []byte("incarnation")
	KeyAudit       = []byte("audit")    // the least number of the next entry of a restored audit
	KeyBackup      = []byte("backup")   // moment of the newest backup that was verified
	KeyReleased    = []byte("released") // there: a copy of the file, and not the file, may be used
	KeyFile        = []byte("file")     // which file it was: its device, inode and time of birth
)

// Buckets are the buckets of every file.
var Buckets = [][]byte{BucketMeta, BucketLog, BucketTask, BucketLive, BucketList, BucketListCtx, BucketRow, BucketRowIdx, BucketDue, BucketAudit}

// Derived are the buckets that are made from task and row.
var Derived = [][]byte{BucketLive, BucketList, BucketListCtx, BucketRowIdx}

// IsDerived reports whether a bucket is made from task and row.
func IsDerived(name []byte) bool {
	return slices.ContainsFunc(Derived, func(d []byte) bool { return bytes.Equal(d, name) })
}

// The bucket and the key that a restored or mended file may have beside [Buckets].
var (
	BucketDropped = []byte("dropped") // damaged derived buckets, by transaction: their pages are never read
	KeyRebuild    = []byte("rebuild") // in meta until the derived buckets are complete
)

const (
	// FillPercent is how full pages are made when they split: most keys are added after all keys of their kind,
	// because they begin with a time.
	FillPercent = 0.95
	// RowFillPercent is that of rows: the hashes of messages come in no order.
	RowFillPercent = 0.75
)
