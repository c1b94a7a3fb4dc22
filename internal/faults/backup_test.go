//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// command runs a command of the program, and kills it after a time; 0: never. It returns whether
// the command has succeeded, and what it wrote.
func (w *world) command(kill time.Duration, args ...string) (done bool, says string) {
	w.Helper()
	c := exec.Command(w.binary, args...)
	c.Env = append(os.Environ(), controlEnv+"="+w.control)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	need(w, c.Start())
	if kill > 0 {
		defer time.AfterFunc(kill, func() { _ = c.Process.Kill() }).Stop()
	}
	err := c.Wait()
	return err == nil, out.String()
}

// A backup is taken while the server works, and restored; commands and server are killed at any
// moment. A backup is whole or not there. So is what is made of it, and it has everything that was
// shown before the backup.
func TestBackedUp(t *testing.T) {
	t.Parallel()
	copies := 3
	if *long {
		copies = 15
	}
	w := newWorld(t)
	config := filepath.Join(t.TempDir(), "c.yaml")
	need(t, os.WriteFile(config, fmt.Appendf(nil, "auth: {socket: [{uid: %d, subject: duty, roles: [admin]}]}\n", os.Getuid()), 0o600))
	w.flags = []string{"--config", config}
	s := w.start()
	l := w.load()
	folder := t.TempDir()
	backup := func(kill time.Duration, name string) bool {
		t.Helper()
		file := filepath.Join(folder, name)
		done, says := w.command(kill, "store", "backup", "--data", w.data, file)
		if _, err := os.Stat(file); done != (err == nil) && kill == 0 {
			t.Fatalf("backup = %t, and the file: %v; it said:\n%s", done, err, says)
		}
		return done
	}
	var shown [][]*errand
	for n := range copies {
		w.reached(10)
		shown = append(shown, w.done())
		for k := range 3 {
			backup(time.Duration(1+rand.IntN(60))*time.Millisecond, fmt.Sprint("killed", n, k))
		}
		if !backup(0, fmt.Sprint("whole", n)) {
			t.Fatal("no backup is made while the server works")
		}
	}
	w.ending.Store(true)
	time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, s.kill)
	backup(0, "server-killed")
	s.kill()
	l.stop()
	struck(t, 4*copies+1)
	for _, name := range must(filepath.Glob(filepath.Join(folder, "[ksw]*")))(t) { // not what killed commands leave
		w.restored(t, config, name, nil)
	}
	for n := range copies {
		path := w.restored(t, config, filepath.Join(folder, fmt.Sprint("whole", n)), shown[n])
		if !examine(t, w, path, shown[n], nil).served {
			t.Errorf("backup %d was not served", n)
		}
	}
}

// restored makes a store from a backup, and resumes it. The command is killed a few times before.
func (w *world) restored(t *testing.T, config, backup string, shown []*errand) (path string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	path = filepath.Join(data, "tasks.db")
	restore := []string{"store", "restore", "--data", data, backup}
	for range 3 {
		if done, _ := w.command(time.Duration(1+rand.IntN(80))*time.Millisecond, restore...); done {
			break
		}
	}
	if _, err := os.Stat(path); err != nil { // else it was killed after it was done
		if done, says := w.command(0, restore...); !done {
			t.Fatalf("%s is not restored: %s", backup, says)
		}
	}
	if shown == nil {
		return path
	}
	s := startServer(t, w.binary, w.control, nil, "--data", data, "--config", config)
	if s.url == "" {
		t.Fatalf("the restored store is not served:\n%s", s.said())
	}
	if done, says := w.command(0, "store", "resume", "--data", data); !done {
		t.Fatalf("it is not resumed: %s", says)
	}
	s.stop()
	s.sound()
	return path
}
