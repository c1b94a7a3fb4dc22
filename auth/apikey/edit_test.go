package apikey

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"a2a-server/auth"
)

// What docs/keys.md tells scanners to look for.
var keyForm = regexp.MustCompile(`^a2ak_[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?_[0-9A-Za-z]{49}$`)

func TestNewSecret(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	count := map[rune]int{}
	const n = 2_000
	for range n {
		key := newSecret("ci-2.main")
		if id, _, ok := parse(key); !ok || id != "ci-2.main" || !keyForm.MatchString(key) || seen[key] {
			t.Fatalf("parse(%q) = %q, %v", key, id, ok)
		}
		seen[key] = true
		for _, c := range key[len("a2ak_ci-2.main_"):][:secretLen] {
			count[c]++
		}
	}
	mean := n * secretLen / 62
	for _, c := range digits {
		if count[c] < mean*3/4 || count[c] > mean*5/4 {
			t.Errorf("%c is drawn %d times, want about %d", c, count[c], mean)
		}
	}
}

// The check is part of the form: scanners compute it too.
func TestCheckIsKept(t *testing.T) {
	t.Parallel()
	const key = "a2ak_alice_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg"
	if check := checkOf([]byte(key)); string(check[:]) != "2NqBSR" {
		t.Errorf("checkOf(%q) = %q", key, check)
	}
}

func TestAddAndRevoke(t *testing.T) {
	t.Parallel()
	w, keys := with(t,
		Key{ID: "alice", Person: `corp: "alice" # 1`, Tenant: "acmé", Roles: []string{"requester", "sre: on call"}, Created: noon.Add(time.Millisecond)},
		Key{ID: "007", Kind: auth.KindService, Roles: []string{"no"}, Expires: noon.Add(time.Hour)},
	)
	want := []Key{
		{ID: "alice", Person: `corp: "alice" # 1`, Tenant: "acmé", Roles: []string{"requester", "sre: on call"}, Created: noon},
		{ID: "007", Kind: auth.KindService, Roles: []string{"no"}, Expires: noon.Add(time.Hour)},
	}
	w.has(want)
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if strings.Contains(string(text), key[len(key)-20:]) {
			t.Errorf("the file has the key %s", key)
		}
	}
	if info, err := os.Stat(w.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v, want 0600", info.Mode(), err)
	}
	if err := Revoke(w.file, "alise", noon); err == nil || !strings.Contains(err.Error(), "did you mean alice?") {
		t.Errorf("Revoke() of a misspelled id = %v", err)
	}
	if err := Revoke(w.file, "alice", noon); err != nil {
		t.Fatal(err)
	}
	want[0].Revoked = noon
	w.has(want)
	if err := Revoke(w.file, "alice", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.has(want)
	if _, err := Add(w.file, Key{ID: "alice", Roles: []string{"admin"}}, false); !errors.Is(err, ErrExists) {
		t.Errorf("Add() of a revoked id = %v, want ErrExists", err)
	}
	again, err := Add(w.file, Key{ID: "alice", Roles: []string{"viewer"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	w.has([]Key{{ID: "alice", Roles: []string{"viewer"}}, want[1]})
	a := w.open(Config{})
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", keys[0])); !says(err, saysUnknown) {
		t.Errorf("the key that was replaced: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", again)); err != nil {
		t.Errorf("the new key: %v", err)
	}
}

// has checks what is in the file.
func (w *world) has(want []Key) {
	w.t.Helper()
	got, err := Load(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Key{})); diff != "" {
		w.t.Errorf("the file (-want +got):\n%s", diff)
	}
}

const byHand = `# Who asked for these: OPS-12.
- id: alice   # until she has a login
  sha256: "0000000000000000000000000000000000000000000000000000000000000001"
  roles:
    - requester

# The build.
- roles: [requester]
  id: ci
  sha256: "0000000000000000000000000000000000000000000000000000000000000002"`

// Comments of people stay.
func TestEditKeepsComments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(file string) error
		find   []string
		gone   []string
	}{
		"add": {func(file string) error {
			_, err := Add(file, Key{ID: "bob", Roles: []string{"viewer"}}, false)
			return err
		}, []string{"OPS-12", "until she", "# The build.", "0002\"\n- id: \"bob\"\n"}, nil},
		"replace": {func(file string) error {
			_, err := Add(file, Key{ID: "alice", Roles: []string{"viewer"}}, true)
			return err
		}, []string{"OPS-12", "# The build.\n- roles", "[\"viewer\"]"}, []string{"until she", "0001"}},
		"replace the last": {func(file string) error {
			_, err := Add(file, Key{ID: "ci", Roles: []string{"viewer"}}, true)
			return err
		}, []string{"OPS-12", "until she", "# The build.\n- id: \"ci\""}, []string{"0002"}},
		"revoke": {func(file string) error { return Revoke(file, "alice", noon) },
			[]string{"OPS-12", "until she has a login\n  revoked: 2026-11-22T12:00:00Z\n", "# The build."}, nil},
		"revoke the last": {func(file string) error { return Revoke(file, "ci", noon) },
			[]string{"OPS-12", "until she", "- roles: [requester]\n  revoked: 2026-11-22T12:00:00Z\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, file: filepath.Join(t.TempDir(), "keys.yaml")}
			w.write(byHand, 0o600)
			if err := tc.change(w.file); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(w.file)
			if err != nil {
				t.Fatal(err)
			}
			for _, find := range tc.find {
				if !strings.Contains(string(text), find) {
					t.Errorf("it has no %q:\n%s", find, text)
				}
			}
			for _, gone := range tc.gone {
				if strings.Contains(string(text), gone) {
					t.Errorf("it has %q:\n%s", gone, text)
				}
			}
		})
	}
}

// A file that is written in another way than Add does it is changed all the same.
func TestEditOfOtherForms(t *testing.T) {
	t.Parallel()
	const one = `"0000000000000000000000000000000000000000000000000000000000000001"`
	for name, text := range map[string]string{
		"none":         "[]",
		"flow":         "[{id: alice, sha256: " + one + ", roles: [viewer]}]",
		"flow entry":   "- {id: alice, sha256: " + one + ", roles: [viewer]}\n",
		"indented":     "  - id: alice\n    sha256: " + one + "\n    roles: [viewer]",
		"roles first":  "- roles:\n    - viewer\n  id: alice\n  sha256: " + one + "\n",
		"dash alone":   "-\n  id: alice\n  sha256: " + one + "\n  roles: [viewer]\n",
		"with an end":  "---\n- id: alice\n  sha256: " + one + "\n  roles: [viewer]\n...\n",
		"line endings": "- id: alice\r\n  sha256: " + one + "\r\n  roles: [viewer]\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, file: filepath.Join(t.TempDir(), "keys.yaml")}
			w.write(text, 0o600)
			want := []Key{{ID: "bob", Roles: []string{"admin"}}}
			if name != "none" {
				want = append([]Key{{ID: "alice", Roles: []string{"viewer"}, Revoked: noon}}, want...)
				if err := Revoke(w.file, "alice", noon); err != nil {
					t.Fatal(err)
				}
			}
			w.add(Key{ID: "bob", Roles: []string{"admin"}})
			w.has(want)
			if _, err := Add(w.file, Key{ID: "bob", Roles: []string{"viewer"}}, true); err != nil {
				t.Fatal(err)
			}
			want[len(want)-1].Roles = []string{"viewer"}
			w.has(want)
		})
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		k    Key
		says string
	}{
		"no id":            {Key{}, "id of a key"},
		"an id in capital": {Key{ID: "Alice"}, "lower-case"},
		"an underscore":    {Key{ID: "a_b"}, "id of a key"},
		"a dash at first":  {Key{ID: "-a"}, "id of a key"},
		"a dot at the end": {Key{ID: "a."}, "id of a key"},
		"a long id":        {Key{ID: strings.Repeat("a", 65)}, "id of a key"},
		"a line":           {Key{ID: "a\nb"}, `\u000a`},
		"a hidden person":  {Key{ID: "a", Person: "al\u202eice"}, "invisible characters"},
		"a blank tenant":   {Key{ID: "a", Tenant: " acme"}, "blank"},
		"a role of lines":  {Key{ID: "a", Roles: []string{"x\n- id: b"}}, "invisible characters"},
		"a kind":           {Key{ID: "a", Kind: "robot"}, "unknown kind"},
		"not UTF-8":        {Key{ID: "a", Person: "\xff"}, "invisible characters"},
	} {
		file := filepath.Join(t.TempDir(), "keys.yaml")
		if _, err := Add(file, tc.k, false); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: Add() = %v, want %q", name, err, tc.says)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file was made: %v", name, err)
		}
	}
}

// Many at once lose nothing.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w, _ := with(t, Key{ID: "a", Roles: []string{"admin"}}, Key{ID: "b", Roles: []string{"admin"}})
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if _, err := Add(w.file, Key{ID: string(rune('c' + i)), Roles: []string{"viewer"}}, false); err != nil {
				t.Error(err)
			}
		})
	}
	for _, id := range []string{"a", "b"} {
		all.Go(func() {
			if err := Revoke(w.file, id, noon); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	keys, err := Load(w.file)
	if err != nil || len(keys) != 14 || keys[0].Revoked.IsZero() || keys[1].Revoked.IsZero() {
		t.Errorf("%d keys, %v, want 14, and the first two revoked", len(keys), err)
	}
	left, err := os.ReadDir(filepath.Dir(w.file))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v, want only the file", left, err)
	}
}

// The group of a server may read the file after an edit, too.
func TestAddKeepsTheGroup(t *testing.T) {
	t.Parallel()
	w, _ := with(t, Key{ID: "a", Roles: []string{"admin"}})
	if err := os.Chmod(w.file, 0o640); err != nil {
		t.Fatal(err)
	}
	w.add(Key{ID: "b", Roles: []string{"admin"}})
	if info, err := os.Stat(w.file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has the mode %v, %v, want 0640", info.Mode(), err)
	}
}

// A link stays one, as to a file on a volume.
func TestAddToALink(t *testing.T) {
	t.Parallel()
	w, _ := with(t, Key{ID: "a", Roles: []string{"admin"}})
	target := w.file
	w.file = filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(target, w.file); err != nil {
		t.Fatal(err)
	}
	w.add(Key{ID: "b", Roles: []string{"admin"}})
	if info, err := os.Lstat(w.file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	if keys, err := Load(target); err != nil || len(keys) != 2 {
		t.Errorf("the file has %d keys, %v, want 2", len(keys), err)
	}
}

// FuzzParseFile reads texts as files of keys. What is valid stays the same when it is
// written again.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte(byHand))
	f.Add([]byte("[]"))
	f.Add([]byte("- {id: a, sha256: \"" + strings.Repeat("ab", 32) + "\", kind: service, expires: 2027-01-31, roles: [a, \"b\\n\"]}"))
	f.Add([]byte("- id: &a x\n  id: *a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		keys, err := parseFile("keys.yaml", text)
		if err != nil {
			return
		}
		again := ""
		for i := range keys {
			if CheckID(keys[i].ID) != nil || keys[i].hash == (hash{}) {
				t.Errorf("key %d is %+v", i, keys[i])
			}
			again += keys[i].render()
		}
		if len(keys) == 0 {
			return
		}
		got, err := parseFile("again.yaml", []byte(again))
		if err != nil || len(got) != len(keys) {
			t.Fatalf("%s\nis written as\n%s\n%v", text, again, err)
		}
		for i := range got {
			if !same(got[i], keys[i]) {
				t.Errorf("key %d is %+v, and read again %+v", i, keys[i], got[i])
			}
		}
	})
}
