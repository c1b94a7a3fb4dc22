package keyring

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/privatefile"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a folder of keys and a clock.
type world struct {
	t      *testing.T
	folder string
	file   string
	log    bytes.Buffer
	mu     sync.Mutex
	at     time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "keys")
	return &world{t: t, folder: folder, file: filepath.Join(folder, "agent-card.json"), at: noon}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func (w *world) open() *Keyring {
	w.t.Helper()
	k := must(Open(Config{Folder: w.folder, Now: w.now, Log: zerolog.New(&w.log)}))
	return k
}

func (w *world) rotate() {
	w.t.Helper()
	if until, err := Rotate(w.folder, AgentCard, w.now()); err != nil || !until.Equal(w.now().Add(Overlap)) {
		w.t.Fatalf("Rotate() = %v, %v", until, err)
	}
}

func (w *world) text() string {
	w.t.Helper()
	text := must(os.ReadFile(w.file))
	return string(text)
}

func (w *world) write(text string, mode fs.FileMode) {
	w.t.Helper()
	_ = os.Remove(w.file)
	need(os.WriteFile(w.file, []byte(text), 0o600))
	need(os.Chmod(w.file, mode))
}

var data = []byte("what is authenticated")

// seen is a signer as its reader sees it: signatures, and the published keys that verify them.
type seen struct{ s *Signer }

func newSeen(k *Keyring) seen { return seen{k.Signer(AgentCard)} }

func (v seen) Tag(data []byte) []byte {
	return must(json.Marshal(must(v.s.Sign(data, nil))))
}

func (v seen) Verify(data, tag []byte) bool {
	var sig Signature
	need(json.Unmarshal(tag, &sig))
	return verified(must(v.s.KeySet()), data, sig) != ""
}

func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tag := newSeen(w.open()).Tag(data)
	if !newSeen(w.open()).Verify(data, tag) {
		t.Error("after a restart the tag is not verified")
	}
	for name, mode := range map[string]fs.FileMode{w.folder: 0o700, w.file: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has the mode %v, %v, want %04o", name, info.Mode(), err, mode)
		}
	}
	need(os.Remove(w.file))
	if newSeen(w.open()).Verify(data, tag) {
		t.Error("a new key verifies what the lost one has made")
	}
}

// The old key verifies for a day, and then it is nowhere.
func TestRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := newSeen(w.open())
	old := m.Tag(data)
	secret := (*m.s.keys.Load())[0].Secret
	w.rotate()
	if !bytes.Equal(m.Tag(data), old) {
		t.Error("the new key is in use before anybody has looked")
	}
	w.pass(noticing)
	young := m.Tag(data)
	if bytes.Equal(young, old) {
		t.Error("the server has not noticed the new key")
	}
	w.pass(Overlap - noticing - 1)
	if !m.Verify(data, old) || !m.Verify(data, young) {
		t.Errorf("within a day the tags are verified: the old one %v, the new one %v", m.Verify(data, old), m.Verify(data, young))
	}
	w.pass(1)
	if m.Verify(data, old) || !m.Verify(data, young) {
		t.Errorf("after a day the tags are verified: the old one %v, the new one %v", m.Verify(data, old), m.Verify(data, young))
	}
	w.pass(noticing)
	if m.Verify(data, old) || !m.Verify(data, young) || len(*m.s.keys.Load()) != 1 {
		t.Errorf("%d keys are in memory, want 1", len(*m.s.keys.Load()))
	}
	keys, err := read(w.folder, AgentCard)
	if err != nil || len(keys) != 1 || bytes.Equal(keys[0].Secret, secret) {
		t.Errorf("the file has %d keys, %v, want only the new one", len(keys), err)
	}
	if log := w.log.String(); log != "" {
		t.Errorf("the log has %s", log)
	}
}

// A key that was replaced while the clock was wrong does not last until that time comes.
func TestRotateByAWrongClock(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]bool{time.Minute: true, 365 * 24 * time.Hour: false} {
		w := newWorld(t)
		k := w.open()
		m := newSeen(k)
		old := m.Tag(data)
		w.pass(ahead)
		w.rotate()
		w.pass(-ahead)
		for _, running := range []seen{m, newSeen(w.open())} {
			need(k.Reload())
			if running.Verify(data, old) != want || !running.Verify(data, running.Tag(data)) {
				t.Errorf("with a clock that was %v ahead, the old key is accepted: %v, want %v", ahead, !want, want)
			}
		}
		if keys, err := read(w.folder, AgentCard); err != nil || (len(keys) == 2) != want {
			t.Errorf("the file has %d keys, %v", len(keys), err)
		}
	}
}

// A folder that everybody may read is found at the next reload.
func TestFolderOpenedWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.open()
	tag := newSeen(k).Tag(data)
	need(os.Chmod(w.folder, 0o755))
	if err := k.Reload(); err == nil || !strings.Contains(err.Error(), "chmod go-rwx "+w.folder) {
		t.Errorf("Reload() = %v", err)
	}
	if !newSeen(k).Verify(data, tag) {
		t.Error("the key in use has changed")
	}
	need(os.Chmod(w.folder, 0o750))
	if err := k.Reload(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(w.folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has the mode %v, %v, want 0700", info.Mode(), err)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.open()
	m := newSeen(k)
	old := m.Tag(data)
	w.rotate()
	need(k.Reload())
	if young := m.Tag(data); bytes.Equal(young, old) || !m.Verify(data, old) {
		t.Error("the new key is not in use, or the old one is not accepted")
	}
}

// What damages the file while the server runs changes nothing, and is said once.
func TestDamagedWhileRunning(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world){
		"cut off":  func(w *world) { w.write(w.text()[:100], 0o600) },
		"too open": func(w *world) { w.write(w.text(), 0o604) },
		"removed":  func(w *world) { _ = os.Remove(w.file) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			k := w.open()
			m := newSeen(k)
			tag := m.Tag(data)
			good := w.text()
			spoil(w)
			for range 5 {
				w.pass(noticing)
				if !m.Verify(data, tag) || !bytes.Equal(m.Tag(data), tag) {
					t.Fatal("the key in use has changed")
				}
			}
			if n := strings.Count(w.log.String(), "the keys in use stay"); n != 1 {
				t.Errorf("the log says so %d times, want once: %s", n, w.log.String())
			}
			if err := k.Reload(); err == nil {
				t.Error("Reload() = nil, want an error each time")
			}
			w.write(good, 0o600)
			if err := k.Reload(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A new file is taken while another process holds the lock of the folder: a request does not wait
// for it.
func TestReloadDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.open()
	m := newSeen(k)
	tag := m.Tag(data)
	w.rotate()
	defer must(privatefile.Lock(w.folder))()
	w.pass(noticing)
	if bytes.Equal(m.Tag(data), tag) || !m.Verify(data, tag) {
		t.Errorf("the new key is not in use: %s", w.log.String())
	}
	need(k.Reload())
}

func TestRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	good := w.text()
	open := func() error {
		_, err := Open(Config{Folder: w.folder, Now: w.now})
		return err
	}
	for name, tc := range map[string]struct {
		text string
		mode fs.FileMode
		says string
	}{
		"empty":            {"", 0o600, "is damaged"},
		"cut off":          {good[:len(good)/2], 0o600, "is damaged"},
		"zeros":            {strings.Repeat("\x00", len(good)), 0o600, "is damaged"},
		"twice":            {good + good, 0o600, "is damaged"},
		"null":             {"null", 0o600, "is damaged"},
		"nothing":          {"{}", 0o600, "is damaged"},
		"huge":             {strings.Repeat(" ", maxFile) + good, 0o600, "larger"},
		"newer":            {strings.Replace(good, `"version": 1`, `"version": 2`, 1), 0o600, "newer program"},
		"of another":       {string(must(os.ReadFile(filepath.Join(w.folder, "push-secrets.json")))), 0o600, "is the file of keys for"},
		"for another":      {strings.Replace(good, `"agent-card"`, `"signatures"`, 1), 0o600, "is damaged"},
		"no sum":           {strings.Replace(good, `"sha256"`, `"sha255"`, 1), 0o600, "is damaged"},
		"everybody reads":  {good, 0o604, "signing rotate"},
		"everybody writes": {good, 0o602, "signing rotate"},
	} {
		w.write(tc.text, tc.mode)
		if err := open(); err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), w.file) {
			t.Errorf("%s: Open() = %v, want %q", name, err, tc.says)
		}
		if w.text() != tc.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	w.write(good, 0o600)
	need(os.Chmod(w.folder, 0o707))
	if err := open(); err == nil || !strings.Contains(err.Error(), "chmod go-rwx") {
		t.Errorf("a folder for everybody: %v", err)
	}
}

// No changed character of the file goes unnoticed: where it is read the same, it is the
// same.
func TestEveryChangedByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.rotate()
	good := []byte(w.text())
	want := must(parse(good, AgentCard))
	for i := range good {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			got, err := parse(bad, AgentCard)
			if err != nil {
				continue
			}
			for j := range got {
				if len(got) != len(want) || got[j].ID != want[j].ID || !bytes.Equal(got[j].Secret, want[j].Secret) || !got[j].Until.Equal(want[j].Until) {
					t.Fatalf("byte %d, %q: is read as other keys", i, bad[max(0, i-20):min(len(bad), i+20)])
				}
			}
		}
	}
}

// A group gets rights when some volumes are mounted.
func TestRightsOfAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tag := newSeen(w.open()).Tag(data)
	need(errors.Join(os.Chmod(w.file, 0o660), os.Chmod(w.folder, 0o770)))
	if !newSeen(w.open()).Verify(data, tag) {
		t.Error("the key has changed")
	}
	for name, mode := range map[string]fs.FileMode{w.folder: 0o700, w.file: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has the mode %v, %v, want %04o", name, info.Mode(), err, mode)
		}
	}
	if n := strings.Count(w.log.String(), "rights of the group"); n != 2 {
		t.Errorf("the log says so %d times, want twice", n)
	}
}

func TestRotateRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := Rotate(w.folder, AgentCard, noon); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	need(os.Mkdir(w.folder, 0o700))
	if _, err := Rotate(w.folder, AgentCard, noon); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	w.open()
	if _, err := Rotate(w.folder, "../x", noon); err == nil || !strings.Contains(err.Error(), "no keys for") {
		t.Errorf("another purpose: %v", err)
	}
	for range maxKeys - 1 {
		w.rotate()
	}
	before := w.text()
	if _, err := Rotate(w.folder, AgentCard, noon); err == nil || !strings.Contains(err.Error(), "wait until 2026-11-23T12:00:00Z") || w.text() != before {
		t.Errorf("with %d keys: %v", maxKeys, err)
	}
	w.pass(Overlap)
	w.rotate()
	if keys, err := read(w.folder, AgentCard); err != nil || len(keys) != 2 {
		t.Errorf("a day later the file has %d keys, %v, want 2", len(keys), err)
	}
	w.write("{", 0o600)
	if _, err := Rotate(w.folder, AgentCard, noon); err == nil || w.text() != "{" {
		t.Errorf("a damaged file: %v", err)
	}
}

// Commands and a server that reads and prunes at the same time lose no key.
func TestRotateAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.open()
	m := newSeen(k)
	tag := m.Tag(data)
	var all sync.WaitGroup
	for range 8 {
		all.Go(w.rotate)
		all.Go(func() {
			if err := k.Reload(); err != nil {
				t.Error(err)
			}
			if mine := m.Tag(data); !m.Verify(data, mine) || !m.Verify(data, tag) {
				t.Error("a tag is not verified")
			}
		})
	}
	all.Wait()
	if keys, err := read(w.folder, AgentCard); err != nil || len(keys) != 9 {
		t.Errorf("the file has %d keys, %v, want 9", len(keys), err)
	}
}

// What a crash leaves is removed at the next start, and never read.
func TestDraftOfACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tag := newSeen(w.open()).Tag(data)
	draft := filepath.Join(w.folder, ".agent-card.json.new-1234")
	need(os.WriteFile(draft, []byte(`{"version":`), 0o600))
	if !newSeen(w.open()).Verify(data, tag) {
		t.Error("the key has changed")
	}
	if _, err := os.Stat(draft); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
}
