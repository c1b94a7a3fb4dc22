//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// A page of each kind is damaged, in different ways, while the process is down: the start is refused, or
// the server ends when it reads the page, and the next start is refused or makes an index anew. All say
// what to do, and what is served is correct.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	ways := []struct {
		name   string
		damage func(page []byte)
	}{
		{"zeros", func(p []byte) { clear(p) }},
		{"noise", func(p []byte) { copy(p, noise(1, len(p))) }},
		{"another page", func(p []byte) { copy(p, s.used[s.pages.at["log leaf"]*s.pages.size:][:len(p)]) }},
	}
	var served, refused, ended atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d files were refused at once; of %d servers on others %d ended", refused.Load(), served.Load(), ended.Load())
		if served.Load() == 0 || refused.Load() == 0 || ended.Load() == 0 {
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
				f := examine(t, s.w, path, s.w.all(), nil)
				if f.served {
					served.Add(1)
				} else {
					refused.Add(1)
				}
				if f.ended {
					ended.Add(1)
				}
				struck(t, 1)
			})
		}
	}
}

// A page is damaged under a server: it ends when it reads the page, and names the next step. The next
// start makes an index anew, and refuses the file for any other page, again and again.
func TestDamagedWhileServed(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	for _, name := range []string{"task leaf", "log leaf", "list leaf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, known := s.pages.at[name]
			if !known {
				t.Fatalf("the sample has no %s", name)
			}
			path := s.write(t, func(file []byte) []byte { return file })
			f := examine(t, s.w, path, s.w.all(), func() {
				file := must(os.OpenFile(path, os.O_WRONLY, 0))(t)
				_, err := file.WriteAt(make([]byte, s.pages.size), int64(at*s.pages.size))
				need(t, errors.Join(err, file.Close()))
			})
			if !f.ended || f.mended != (name == "list leaf") {
				t.Errorf("the server has ended: %t, and its index was made anew: %t", f.ended, f.mended)
			}
			struck(t, 1)
		})
	}
}

// A bug of this program in the middle of a commit costs a restart, and no data.
func TestPlantedBug(t *testing.T) {
	t.Parallel()
	for _, point := range []string{atWrite, atWriteMeta, atSyncMeta} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.start()
			l := w.load()
			w.reached(15)
			w.ending.Store(true)
			w.fault(point, syscall.Errno(9999), 0, true)
			if !s.ends(endBound) {
				t.Fatalf("the server continues:\n%s", s.said())
			}
			l.stop()
			struck(t, w.strikes())
			hasFailed(t, s, w.store, "a planted bug")
			w.ending.Store(false)
			w.start()
			w.live.stop()
			if said := w.live.said(); !strings.Contains(said, "that was a bug of this program") || !strings.Contains(said, "a planted bug") {
				t.Errorf("the server does not say that it has a bug:\n%s", said)
			}
			w.again()
		})
	}
}

// hasFailed checks the end of a server whose store has failed: the exit code, the line that says so, and the
// mark for the next process.
func hasFailed(t *testing.T, s *server, path string, says ...string) {
	t.Helper()
	exit, is := errors.AsType[*exec.ExitError](s.err)
	if !is || exit.ExitCode() != 2 {
		t.Errorf("the server ended with %v, want exit code 2", s.err)
	}
	lines := strings.Split(strings.TrimSpace(s.said()), "\n")
	last := lines[len(lines)-1]
	for _, part := range append(says, "a2a-server: store is damaged: "+path, "a2a-server store restore BACKUP --data "+filepath.Dir(path)) {
		if !strings.Contains(last, part) {
			t.Errorf("the last line is %q, want one with %q", last, part)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".failed")); err != nil {
		t.Errorf("the mark of the failure: %v", err)
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
				f := examine(t, s.w, path, s.w.all(), nil)
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
			if examine(t, s.w, path, s.w.all(), nil).served {
				t.Errorf("a file that was cut at %d of its %d bytes is served", at, len(s.used))
			}
			struck(t, 1)
		})
	}
}

// found is what became of a file that may be damaged.
type found struct {
	served bool
	ended  bool // the server, when it read the damage
	mended bool // by the next process
	right  int  // errands that are there as they were shown
	said   int  // of which the server says that it cannot read them
	listed int  // tasks that are listed as damaged
}

// examine starts the program on a file and asks for errands that were shown when it was
// whole. It fails the test when the program neither serves nor says what to do, and when
// something that it serves is wrong. damage is called when the program serves; nil: the file is damaged.
func examine(t *testing.T, w *world, path string, shown []*errand, damage func()) (f found) {
	t.Helper()
	s := startServer(t, w.binary, w.control, nil, "--data", filepath.Dir(path), "--store", "bolt:"+path)
	defer s.kill()
	if s.url == "" {
		if said := s.said(); !strings.Contains(said, path) || !strings.Contains(said, "restore") {
			t.Errorf("the refusal does not name the file and what to do:\n%s", said)
		}
		s.sound()
		return f
	}
	f.served = true
	if damage != nil {
		damage()
	}
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
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".failed")); err == nil {
		if f.ended = s.ends(endBound); !f.ended {
			t.Fatalf("the server continues:\n%s", s.said())
		}
		hasFailed(t, s, path)
		f.mended = restarted(t, w, path, shown)
		return f
	}
	if len(wrong) > 0 {
		t.Errorf("%d of %d that were shown are wrong now, and of %d the server says that it cannot read them; the first: %v", len(wrong), len(shown), f.said, wrong[0])
	}
	s.sound()
	return f
}

// restarted starts the program twice on a file whose server has failed, and reports whether it serves. It
// then has everything that was shown.
func restarted(t *testing.T, w *world, path string, shown []*errand) (served bool) {
	t.Helper()
	for n := range 2 {
		s := startServer(t, w.binary, w.control, nil, "--data", filepath.Dir(path), "--store", "bolt:"+path)
		if s.url == "" {
			hasFailed(t, s, path)
			s.sound()
			continue
		}
		served = true
		c := newClient(s.url)
		ctx, cancel := context.WithTimeout(context.Background(), soonBound)
		for _, e := range shown {
			if err := readAgain(ctx, c, e); err != nil {
				t.Error(err)
			}
		}
		if _, err := listAgain(ctx, c, len(w.all())+1, len(shown)); err != nil {
			t.Error(err)
		}
		cancel()
		c.close()
		s.stop()
		if said := s.said(); strings.Contains(said, "was made again from the tasks") != (n == 0) {
			t.Errorf("at start %d the server says:\n%s", n, said)
		}
	}
	return served
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
