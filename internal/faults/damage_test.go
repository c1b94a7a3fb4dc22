//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	bolt "go.etcd.io/bbolt"
)

// sample is a file with something in each bucket, and what is in it.
type sample struct {
	w     *world
	pages *pageMap
	used  []byte // the file up to its last page
}

// newSample makes it: tasks that have ended, and some that wait for somebody.
func newSample(t *testing.T) *sample {
	t.Helper()
	w := newWorld(t)
	w.size = 2000
	w.start()
	l := w.load()
	w.reached(120)
	l.stop()
	w.finish()
	w.verify()
	w.live.stop()
	pages := must(mapPages(w.store))(t)
	file := must(os.ReadFile(w.store))(t)
	return &sample{w: w, pages: pages, used: file[:pages.used*pages.size]}
}

// write makes a file of what damage leaves of the sample. It is not taken for a copy,
// which would be refused: it says that it is the file that it is.
func (s *sample) write(t *testing.T, damage func(file []byte) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged.db")
	need(t, os.WriteFile(path, nil, 0o600))
	was, is := identity(t, s.w.store), identity(t, path)
	if !bytes.Contains(s.used, was) {
		t.Fatal("the file does not say which one it is")
	}
	need(t, os.WriteFile(path, damage(bytes.ReplaceAll(s.used, was, is)), 0o600))
	return path
}

// identity is how the store writes down which file of its disk it is in.
func identity(t *testing.T, path string) []byte {
	t.Helper()
	var stat syscall.Stat_t
	need(t, syscall.Stat(path, &stat))
	var made unix.Statx_t
	need(t, unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &made))
	id := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, stat.Dev), stat.Ino)
	return binary.BigEndian.AppendUint64(id, uint64(made.Btime.Sec)*1e9+uint64(made.Btime.Nsec))
}

// A page of each kind is damaged, in different ways, while the process is down: the start
// is refused and says what to do, or what is served is correct.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	ways := []struct {
		name   string
		damage func(page []byte)
	}{
		{"zeros", func(p []byte) { clear(p) }},
		{"noise", func(p []byte) { copy(p, noise(1, len(p))) }},
		{"noise after the header", func(p []byte) { copy(p[pageHeader:], noise(2, len(p)-pageHeader)) }},
		{"another page", func(p []byte) { copy(p, s.used[s.pages.at["log leaf"]*s.pages.size:][:len(p)]) }},
		{"a count too high", func(p []byte) { p[10], p[11] = 0xff, 0x0f }},
	}
	var served, refused, said atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d files were refused and %d served, with %d answers that a task cannot be read", refused.Load(), served.Load(), said.Load())
		if served.Load() == 0 || refused.Load() == 0 || said.Load() == 0 {
			t.Error("want some of each")
		}
	})
	for n, name := range s.pages.names {
		for k, way := range ways {
			if !*long && k != n%len(ways) {
				continue
			}
			t.Run(name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				path := s.write(t, func(file []byte) []byte {
					way.damage(file[s.pages.at[name]*s.pages.size:][:s.pages.size])
					return file
				})
				f := examine(t, s.w, path, s.w.all())
				if f.served {
					served.Add(1)
					said.Add(int64(f.said))
				} else {
					refused.Add(1)
				}
				struck(t, 1)
			})
		}
	}
}

// A value of each kind is damaged, in different places, while the process is down: at most
// one task is lost by that, and the server says so of it and of no other.
func TestDamagedValues(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	places := 2
	if *long {
		places = 12
	}
	db := must(bolt.Open(s.write(t, func(file []byte) []byte { return file }), 0, &bolt.Options{ReadOnly: true}))(t)
	defer db.Close()
	for _, bucket := range []string{"log", "task", "row", "due", "audit"} {
		var values [][]byte
		if err := db.View(func(tx *bolt.Tx) error {
			return tx.Bucket([]byte(bucket)).ForEach(func(_, v []byte) error {
				values = append(values, bytes.Clone(v))
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		for n := range min(places, len(values)) {
			value := values[n*len(values)/places]
			at := n * len(value) / places
			t.Run(fmt.Sprintf("%s/%d", bucket, n), func(t *testing.T) {
				t.Parallel()
				path := s.write(t, func(file []byte) []byte {
					bad := bytes.Clone(value)
					bad[at] ^= 0x04
					return bytes.ReplaceAll(file, value, bad)
				})
				f := examine(t, s.w, path, s.w.all())
				if !f.served || f.said > 1 || f.right+f.said != len(s.w.all()) {
					t.Errorf("served %t, %d of %d tasks right and %d unreadable; want all right but one at most", f.served, f.right, len(s.w.all()), f.said)
				}
				if f.listed > f.said || f.said > 0 && bucket != "log" && bucket != "task" {
					t.Errorf("%d tasks are unreadable and %d listed as damaged, by a value of %s", f.said, f.listed, bucket)
				}
				struck(t, 1)
			})
		}
	}
}

// The file is cut at many places while the process is down.
func TestCut(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	cuts := 12
	if *long {
		cuts = 40
	}
	for n := range cuts {
		at := len(s.used) * n / cuts
		if n%2 == 1 {
			at += 1234 // not where a page begins
		}
		t.Run(fmt.Sprintf("%d of %d", n, cuts), func(t *testing.T) {
			t.Parallel()
			path := s.write(t, func(file []byte) []byte { return file[:at] })
			if examine(t, s.w, path, s.w.all()).served {
				t.Errorf("a file that was cut at %d of its %d bytes is served", at, len(s.used))
			}
			struck(t, 1)
		})
	}
}

// found is what became of a file that may be damaged.
type found struct {
	served bool
	right  int // errands that are there as they were shown
	said   int // of which the server says that it cannot read them
	listed int // tasks that are listed as damaged
}

// examine starts the program on a file and asks for errands that were shown when it was
// whole. It fails the test when the program neither serves nor says what to do, and when
// something that it serves is wrong.
func examine(t *testing.T, w *world, path string, shown []*errand) (f found) {
	t.Helper()
	s := startServer(t, w.binary, w.control, nil, "--data", filepath.Dir(path), "--store", "bolt:"+path, "--limits-grace", "1s")
	defer s.kill()
	if s.url == "" {
		if said := s.said(); !strings.Contains(said, path) || !strings.Contains(said, "restore") {
			t.Errorf("the refusal does not name the file and what to do:\n%s", said)
		}
		s.sound()
		return f
	}
	f.served = true
	c := newClient(s.url)
	defer c.close()
	ctx, cancel := context.WithTimeout(context.Background(), soonBound)
	defer cancel()
	var mu sync.Mutex
	var wrong []error
	var workers sync.WaitGroup
	next := make(chan *errand)
	for range 4 {
		workers.Go(func() {
			for e := range next {
				err := readAgain(ctx, c, e)
				mu.Lock()
				switch {
				case err == nil:
					f.right++
				case errors.Is(err, errSaid):
					f.said++
				default:
					wrong = append(wrong, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, e := range shown {
		next <- e
	}
	close(next)
	workers.Wait()
	// When the newest meta page is gone, so is the last commit, which may have been of
	// several tasks: that cannot be mended, and it is said.
	older := 0
	if strings.Contains(s.said(), "newer commits") && len(wrong) <= callers {
		older, wrong = len(wrong), nil
	}
	// A new message is carried out, or refused; who writes may meet what readers did not.
	e := newErrand(echo, "errand after the damage", 100)
	err := e.run(ctx, c)
	if err == nil {
		if _, state, text := e.shown(); state != completed || !strings.Contains(text, e.want()) {
			wrong = append(wrong, fmt.Errorf("a new message ended as %s with %.60q", state, text))
		}
	} else if !unsaid(err) && reasonOf(err) != "DATA_LOSS" {
		wrong = append(wrong, err)
	}
	if f.listed, err = listAgain(ctx, c, len(w.all())+1, len(shown)-older); err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		t.Errorf("%d of %d that were shown are wrong now, and of %d the server says that it cannot read them; the first: %v", len(wrong), len(shown), f.said, wrong[0])
	}
	s.sound()
	return f
}

// errSaid says that the server says that it cannot read a task.
var errSaid = errors.New("the server cannot read it")

func readAgain(ctx context.Context, c *client, e *errand) error {
	id, state, text := e.shown()
	t, err := c.get(ctx, id)
	switch {
	case unsaid(err), reasonOf(err) == "DATA_LOSS":
		return errSaid
	case err != nil:
		return fmt.Errorf("%s, task %s: %w", e.name, id, err)
	case t.Status.State != state || t.text() != text:
		return fmt.Errorf("%s, task %s, was shown as %s %.60q and is %s %.60q", e.name, id, state, text, t.Status.State, t.text())
	}
	return nil
}

// listAgain lists all tasks: there are as many as there were, or the server says that it
// cannot read them. All that were shown are among them, and no more than there ever were.
// It returns how many are listed as damaged.
func listAgain(ctx context.Context, c *client, all, shown int) (damaged int, err error) {
	seen := map[string]bool{}
	token := ""
	for {
		var list struct {
			NextPageToken string
			Tasks         []task
		}
		err := c.call(ctx, "ListTasks", object{"pageSize": 100, "pageToken": token}, &list)
		if unsaid(err) || reasonOf(err) == "DATA_LOSS" {
			return damaged, nil
		}
		if err != nil {
			return damaged, err
		}
		for i := range list.Tasks {
			seen[list.Tasks[i].ID] = true
			if string(list.Tasks[i].Metadata["urn:a2a-server:damaged"]) == "true" {
				damaged++
			}
		}
		if token = list.NextPageToken; token == "" {
			break
		}
	}
	if len(seen) < shown || len(seen) > all {
		return damaged, fmt.Errorf("%d tasks are listed, of %d that were shown and %d that there are", len(seen), shown, all)
	}
	return damaged, nil
}
