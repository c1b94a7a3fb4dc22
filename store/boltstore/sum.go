package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"a2a-server/store"
)

// Log values, headers, rows, due payloads and audit entries end in a checksum over the
// bucket, the key and the value before it: a value that was changed or moved on the disk is
// noticed when it is read.
// Values without a version begin with the byte sealed.
const (
	sumSize = 4
	sealed  = 0x06
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(bucket, key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bucket)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// appendSum ends a value, which begins at start of b.
func appendSum(b []byte, start int, bucket, key []byte) []byte {
	return binary.BigEndian.AppendUint32(b, sumOf(bucket, key, b[start:]))
}

// open returns a reader of a value without its checksum. It fails if the checksum is wrong.
func open(bucket, key, value []byte) (r reader) {
	r.b, r.err = unseal(bucket, key, value)
	return r
}

// unseal checks a value and returns it without its checksum.
func unseal(bucket, key, value []byte) ([]byte, error) {
	end := len(value) - sumSize
	if end < 0 || binary.BigEndian.Uint32(value[end:]) != sumOf(bucket, key, value[:end]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", store.ErrDataLoss)
	}
	return value[:end:end], nil
}

// keepSealed is keep for a value at key of a bucket; it adds the checksum.
func (r *round) keepSealed(bucket, key []byte, write func([]byte) []byte) []byte {
	return r.keep(func(b []byte) []byte {
		start := len(b)
		return appendSum(write(b), start, bucket, key)
	})
}

// keepMarked is keepSealed for a value without a version.
func (r *round) keepMarked(bucket, key []byte, parts ...[]byte) []byte {
	return r.keepSealed(bucket, key, func(b []byte) []byte {
		b = append(b, sealed)
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	})
}

// unmark returns the argument of keepMarked.
func unmark(bucket, key, value []byte) ([]byte, error) {
	value, err := unseal(bucket, key, value)
	if err == nil && (len(value) == 0 || value[0] != sealed) {
		err = fmt.Errorf("%w: it does not begin with %#x", store.ErrDataLoss, sealed)
	}
	if err != nil {
		return nil, err
	}
	return value[1:], nil
}
