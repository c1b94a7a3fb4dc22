package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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

// Whatever the writer does with a key, the page where it is, or would be, is checked before.
func TestChangingMeetsDamage(t *testing.T) {
	t.Parallel()
	path, name := filepath.Join(t.TempDir(), "file.db"), []byte("tasks")
	file, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	key := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	if err := file.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(name)
		for n := 0; n < 1000 && err == nil; n += 2 {
			err = b.Put(key(n), make([]byte, 20))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	tx, err := file.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	im := newImage(tx)
	b := im.bucket(name)
	leaf := b.page(b.root, 0).childID(0)
	disk, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fewer := binary.NativeEndian.AppendUint16(nil, uint16(b.page(leaf, 1).count()-1))
	_, err = disk.WriteAt(fewer, int64(leaf*im.size)+10)
	if err := errors.Join(err, disk.Close()); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func(b *changing){
		"Get()":     func(b *changing) { b.Get(key(10)) },
		"Put()":     func(b *changing) { _ = b.Put(key(11), nil) },
		"Delete()":  func(b *changing) { _ = b.Delete(key(10)) },
		"a cursor":  func(b *changing) { b.proveTo(nil, key(10)) },
		"all of it": func(b *changing) { b.proveTo(nil, nil) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "page") {
					t.Errorf("%s of a damaged page: %v", what, p)
				}
			}()
			pages := newProven(uint64(len(im.data)) / im.size)
			do(&changing{Bucket: tx.Bucket(name), was: *b, proven: &pages})
		}()
	}
}
