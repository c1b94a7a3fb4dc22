package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// What is read of a file is what bbolt reads of it, wherever a cursor begins, and every file
// that bbolt writes passes the check: also of buckets that have been emptied, that have
// become small again, and whose values need pages of their own.
func TestReadsAsBbolt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			file := must(bolt.Open(filepath.Join(t.TempDir(), "file.db"), 0o600, &bolt.Options{PageSize: 1024 << random.IntN(4), NoSync: true, InitialMmapSize: 64 << 20}))
			defer file.Close()
			names := [][]byte{[]byte("a"), []byte("b"), []byte("c")}
			many := 1 << random.IntN(14) // keys that there can be
			for range 30 {
				need(file.Update(func(tx *bolt.Tx) error { return change(tx, names, random, many) }))
				if err := file.View(func(tx *bolt.Tx) error {
					return Read(tx, func(im *Image) error {
						for _, name := range names {
							compare(t, im.Bucket(name), tx.Bucket(name), random, many)
						}
						whatever := func(bucket, key, value []byte) error { return nil }
						if damage := im.Check(names[:1], nil, whatever); len(damage) > 0 {
							t.Errorf("Check() = %v", damage)
						}
						return nil
					})
				}); err != nil {
					t.Fatal(err)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

func keyOf(random *rand.Rand, many int) []byte {
	n := random.IntN(many)
	return append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n%37)...)
}

// change makes one commit as the writer makes them.
func change(tx *bolt.Tx, names [][]byte, random *rand.Rand, many int) error {
	for _, name := range names {
		must(tx.CreateBucketIfNotExists(name))
	}
	for _, name := range names {
		b := tx.Bucket(name)
		switch random.IntN(8) {
		case 0: // everything goes
			var keys [][]byte
			if err := b.ForEach(func(k, _ []byte) error {
				keys = append(keys, bytes.Clone(k))
				return nil
			}); err != nil {
				return err
			}
			random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			for _, key := range keys {
				need(b.Delete(key))
			}
		case 1, 2: // much goes
			for range many {
				need(b.Delete(keyOf(random, many)))
			}
		default:
			for range random.IntN(many) + 1 {
				size := random.IntN(60)
				if random.IntN(200) == 0 {
					size = random.IntN(20_000)
				}
				need(b.Put(keyOf(random, many), bytes.Repeat([]byte{byte(size)}, size)))
			}
		}
	}
	return nil
}

// compare reads all of a bucket in both ways.
func compare(t *testing.T, b *Bucket, want *bolt.Bucket, random *rand.Rand, many int) {
	t.Helper()
	same := func(what string, k, v, wantKey, wantValue []byte) bool {
		if !bytes.Equal(k, wantKey) || !bytes.Equal(v, wantValue) || (k == nil) != (wantKey == nil) || (v == nil) != (wantValue == nil) {
			t.Errorf("%s: %x with %d bytes, want %x with %d", what, k, len(v), wantKey, len(wantValue))
		}
		return k != nil && !t.Failed()
	}
	c := b.Cursor()
	w := want.Cursor()
	k, v := c.First()
	wk, wv := w.First()
	for same("forward", k, v, wk, wv) {
		k, v = c.Next()
		wk, wv = w.Next()
	}
	for range 100 {
		key := keyOf(random, many)
		k, v = c.Seek(key)
		wk, wv = w.Seek(key)
		for step := 0; step < 3 && same(fmt.Sprintf("from %x", key), k, v, wk, wv); step++ {
			k, v = c.Next()
			wk, wv = w.Next()
		}
		same("get", key, b.Get(key), key, want.Get(key))
	}
}

func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
