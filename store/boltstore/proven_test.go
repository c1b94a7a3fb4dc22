package boltstore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// Each page that a commit has replaced was checked before: also those that bbolt merges with
// others because so much is deleted, in trees of many levels, across the branches above them.
func TestReplacesOnlyProven(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 2))
			file, err := bolt.Open(filepath.Join(t.TempDir(), "file.db"), 0o600, &bolt.Options{PageSize: 1024, NoSync: true, InitialMmapSize: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			const many = 6000
			name := []byte("tasks")
			key := func(n int) []byte {
				return append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, 40+n%60)...)
			}
			if err := file.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket(name); return err }); err != nil {
				t.Fatal(err)
			}
			for range 40 {
				var pages proven
				var old []uint64
				if err := file.Update(func(tx *bolt.Tx) error {
					im := newImage(tx)
					pages = newProven(uint64(len(im.data)) / im.size)
					b := &changing{Bucket: tx.Bucket(name), was: *im.bucket(name), proven: &pages}
					b.FillPercent = []float64{0.5, fill}[random.IntN(2)]
					old = pagesOf(&b.was, b.was.root, 0)
					for range 1 + random.IntN(4) {
						begin, n := random.IntN(many), 1<<random.IntN(11)
						put := random.IntN(3) == 0 || b.was.root == 0
						for i := range n {
							if random.IntN(40) == 0 {
								continue
							}
							if put {
								err = b.Put(key(begin+i), make([]byte, 30))
							} else {
								err = b.Delete(key(begin + i))
							}
							if err != nil {
								return err
							}
						}
					}
					b.proveMerges()
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				tx, err := file.Begin(true)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range old {
					info, err := tx.Page(int(id))
					if err != nil {
						t.Fatal(err)
					}
					if info.Type == "free" && !pages.has(id) {
						t.Errorf("page %d was replaced, and had not been checked", id)
					}
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// pagesOf returns the pages of a bucket from one on.
func pagesOf(b *bucket, id uint64, depth int) []uint64 {
	if b.root == 0 {
		return nil
	}
	p, all := b.page(id, depth), []uint64{id}
	for i := range p.count() {
		if !p.leaf() {
			all = append(all, pagesOf(b, p.childID(i), depth+1)...)
		}
	}
	return all
}
