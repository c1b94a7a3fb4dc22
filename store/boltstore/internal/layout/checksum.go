package layout

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"a2a-server/store"
)

// Log values, headers, rows, due payloads and audit entries end in a checksum over the
// bucket, the key and the value before it: a value that was changed or moved on the disk is
// noticed when it is read.
const sumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(bucket, key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bucket)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// AppendSum ends a value, which begins at start of b.
func AppendSum(b []byte, start int, bucket, key []byte) []byte {
	return binary.BigEndian.AppendUint32(b, sumOf(bucket, key, b[start:]))
}

// NewReader returns a reader of a value without its checksum. It fails if the checksum is wrong.
func NewReader(bucket, key, value []byte) (r Reader) {
	r.b, r.Err = Unseal(bucket, key, value)
	return r
}

// Check returns an error if a value of log, task, row, due or audit differs from the written value.
func Check(bucket, key, value []byte) error {
	_, err := Unseal(bucket, key, value)
	return err
}

// Unseal checks a value and returns it without its checksum.
func Unseal(bucket, key, value []byte) ([]byte, error) {
	end := len(value) - sumSize
	if end < 0 || binary.BigEndian.Uint32(value[end:]) != sumOf(bucket, key, value[:end]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", store.ErrDataLoss)
	}
	return value[:end:end], nil
}
