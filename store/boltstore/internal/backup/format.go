// Package backup copies a file while it is written, and makes a file from a copy.
//
// A copy is a stream: a line with the format of the store, records, an end, and the SHA-256 of all of
// that. A record puts a key, or deletes it; a later record of a key replaces the earlier one. So a
// copy can be written while the keys change, and is of one moment when it is complete. It has no
// derived buckets.
//
//	magic number    a line: the number is [layout.Format]
//	n key value     n: the number of a bucket, a byte; key, value: a length, as a uvarint, and bytes
//	n+0x80 key      the key was deleted
//	0x7e text       the copy has failed: why
//	0 moment values the end: milliseconds, 8 bytes; the number of records that put, a uvarint
//	sum             SHA-256, 32 bytes
package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

const magic = "a2a-server backup "

// The bytes that begin a record, besides the numbers of buckets.
const (
	markEnd     = 0
	markFailed  = 0x7e
	markDeleted = 0x80
)

// The largest parts of a record, so that a damaged length does not take memory.
const (
	maxKey    = 64 << 10
	maxValue  = 512 << 20
	maxText   = 4 << 10
	maxNumber = 8 // of a format, with the end of its line
)

// ErrNotBackup says that a stream does not begin as a copy does.
var ErrNotBackup = errors.New("it is no backup of this program")

// errDamaged says that a copy differs from its original.
var errDamaged = errors.New("the backup is damaged")

// Info describes a copy.
type Info struct {
	Moment  time.Time // UTC, in milliseconds; everything acknowledged before it is there
	Values  uint64    // including replaced values
	Damaged uint64    // of these, the values that were damaged in the original; 0 if Load returned it
	Bytes   int64

	Longest time.Duration // read transaction; 0 unless Copy returned it
}

// buckets are the buckets that a copy has, at their numbers. The numbers are on disk.
var buckets = [...][]byte{1: layout.BucketMeta, 2: layout.BucketLog, 3: layout.BucketTask, 4: layout.BucketRow, 5: layout.BucketDue, 6: layout.BucketAudit}

func numberOf(bucket []byte) byte {
	n := slices.IndexFunc(buckets[:], func(b []byte) bool { return bytes.Equal(b, bucket) })
	if n < 1 {
		panic(fmt.Sprintf("backup: bucket %s is not copied", bucket))
	}
	return byte(n)
}

// output writes a copy.
type output struct {
	to   io.Writer
	sum  hash.Hash
	info Info
	part []byte // records that are not written yet
}

func newOutput(to io.Writer) *output {
	return &output{to: to, sum: sha256.New(), part: fmt.Appendf(nil, "%s%d\n", magic, layout.Format)}
}

func (o *output) put(bucket, key, value []byte) {
	o.part = append(o.part, numberOf(bucket))
	o.part = appendBytes(appendBytes(o.part, key), value)
	o.info.Values++
}

func (o *output) delete(bucket, key []byte) {
	o.part = appendBytes(append(o.part, numberOf(bucket)|markDeleted), key)
}

func appendBytes(b, value []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// flush writes the records so far.
func (o *output) flush() error {
	n, err := o.to.Write(o.part)
	o.info.Bytes += int64(n)
	_, _ = o.sum.Write(o.part)
	if o.part = o.part[:0]; cap(o.part) > 4*sliceBytes {
		o.part = nil
	}
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

// end completes the copy.
func (o *output) end(moment store.Millis) error {
	o.info.Moment = moment.Time()
	o.part = binary.BigEndian.AppendUint64(append(o.part, markEnd), uint64(moment))
	o.part = binary.AppendUvarint(o.part, o.info.Values)
	if err := o.flush(); err != nil {
		return err
	}
	n, err := o.to.Write(o.sum.Sum(nil))
	o.info.Bytes += int64(n)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

// fail ends a copy that cannot be completed, so that its reader knows why.
func (o *output) fail(why error) {
	text := why.Error()
	o.part = appendBytes(append(o.part, markFailed), []byte(text[:min(len(text), maxText)]))
	_ = o.flush() // else the copy is cut off
}

// record is a record of a copy. Its bytes are valid until the next one.
type record struct {
	bucket     []byte
	key, value []byte
	deleted    bool
}

// input reads a copy.
type input struct {
	from  *bufio.Reader
	sum   hash.Hash
	info  Info
	begun bool
	key   []byte
	value []byte
}

func newInput(from io.Reader) *input {
	return &input{from: bufio.NewReaderSize(from, 1<<20), sum: sha256.New()}
}

// ReadByte reads a byte that the checksum covers.
func (in *input) ReadByte() (byte, error) {
	c, err := in.from.ReadByte()
	if err == nil {
		_, _ = in.sum.Write([]byte{c})
		in.info.Bytes++
	}
	return c, err
}

func (in *input) fill(b []byte) error {
	_, err := io.ReadFull(in.from, b)
	_, _ = in.sum.Write(b)
	in.info.Bytes += int64(len(b))
	return err
}

// bytes reads a length and so many bytes, into b if it is large enough.
func (in *input) bytes(b []byte, most uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	switch {
	case err != nil:
		return nil, err
	case n > most:
		return nil, fmt.Errorf("%w: a length of %d, at byte %d", errDamaged, n, in.info.Bytes)
	case uint64(cap(b)) < n:
		b = make([]byte, n)
	}
	return b[:n], in.fill(b[:n])
}

// next returns the next record, nil after the last. Then the copy is complete, and its checksum is
// right.
func (in *input) next() (*record, error) {
	r, err := in.read()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: it is cut off after %d bytes", errDamaged, in.info.Bytes)
	}
	return r, err
}

// begin reads the line with the format.
func (in *input) begin() error {
	line, err := in.from.Peek(len(magic) + maxNumber)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the backup: %w", err)
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	number, ours := bytes.CutPrefix(line, []byte(magic))
	format, err := strconv.ParseUint(string(number), 10, 64)
	if !ours || err != nil {
		return ErrNotBackup
	}
	if err := layout.CheckFormat("the backup", format); err != nil {
		return err
	}
	return in.fill(make([]byte, len(line)+1))
}

func (in *input) read() (*record, error) {
	if !in.begun {
		in.begun = true
		if err := in.begin(); err != nil {
			return nil, err
		}
	}
	mark, err := in.ReadByte()
	switch n := mark &^ markDeleted; {
	case err != nil:
		return nil, err
	case mark == markEnd:
		return nil, in.finish()
	case mark == markFailed:
		text, err := in.bytes(nil, maxText)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the backup was not completed: %s", text)
	case n == 0 || int(n) >= len(buckets):
		return nil, fmt.Errorf("%w: there is %#x at byte %d", errDamaged, mark, in.info.Bytes-1)
	default:
		r := &record{bucket: buckets[n], deleted: mark&markDeleted != 0}
		if in.key, err = in.bytes(in.key, maxKey); err != nil {
			return nil, err
		}
		if !r.deleted {
			if in.value, err = in.bytes(in.value, maxValue); err != nil {
				return nil, err
			}
			in.info.Values++
		}
		r.key, r.value = in.key, in.value
		return r, nil
	}
}

// finish reads the end, and compares the checksum.
func (in *input) finish() error {
	var moment [8]byte
	if err := in.fill(moment[:]); err != nil {
		return err
	}
	records, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	want := in.sum.Sum(nil)
	var have [sha256.Size]byte
	if err := in.fill(have[:]); err != nil {
		return err
	}
	_, err = in.from.ReadByte()
	switch {
	case !bytes.Equal(have[:], want):
		return fmt.Errorf("%w: its checksum is wrong", errDamaged)
	case records != in.info.Values:
		return fmt.Errorf("%w: it has %d records and not %d", errDamaged, in.info.Values, records)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: something follows its end", errDamaged)
	}
	in.info.Moment = store.Millis(binary.BigEndian.Uint64(moment[:])).Time()
	return nil
}

// Verify reads a copy to its end and compares its checksum.
func Verify(from io.Reader) (Info, error) {
	in := newInput(from)
	for {
		switch r, err := in.next(); {
		case err != nil:
			return Info{}, err
		case r == nil:
			return in.info, nil
		case !r.deleted && !bytes.Equal(r.bucket, layout.BucketMeta) && layout.Check(r.bucket, r.key, r.value) != nil:
			in.info.Damaged++
		}
	}
}
