package apikey

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a file of keys and an authenticator of it.
type world struct {
	t    *testing.T
	file string
	now  time.Time
	a    *Authenticator
}

// with makes a world whose file has these keys, and returns the keys too.
func with(t *testing.T, keys ...Key) (*world, []string) {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "keys.yaml"), now: noon}
	var texts []string
	for _, k := range keys {
		texts = append(texts, w.add(k))
	}
	return w, texts
}

func (w *world) add(k Key) string {
	w.t.Helper()
	text, err := Add(w.file, k, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *world) open(c Config) *Authenticator {
	w.t.Helper()
	c.File, c.Now = w.file, func() time.Time { return w.now }
	a, err := New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.a = a
	return a
}

// request is the credentials of a request with these headers, name and value in turn.
func request(headers ...string) *auth.Credentials {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return &auth.Credentials{Header: h.Values}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	w, keys := with(t,
		Key{ID: "alice", Person: "corp:alice", Tenant: "acme", Roles: []string{"requester", "approver"}, Created: noon},
		Key{ID: "ci-2.main", Kind: auth.KindService, Roles: []string{"requester"}, Expires: noon.Add(time.Hour)},
		Key{ID: "gone", Roles: []string{"admin"}},
	)
	if err := Revoke(w.file, "gone", noon); err != nil {
		t.Fatal(err)
	}
	a := w.open(Config{Tenant: "default"})
	for i, want := range []auth.Principal{
		{Tenant: "acme", Subject: "key:alice", Person: "corp:alice", Roles: []string{"requester", "approver"}, Method: "api_key"},
		{Tenant: "default", Subject: "key:ci-2.main", Kind: auth.KindService, Roles: []string{"requester"}, Method: "api_key", Expires: noon.Add(time.Hour)},
	} {
		got, err := a.Authenticate(t.Context(), request("X-API-Key", keys[i]))
		if err != nil {
			t.Fatal(err)
		}
		want.Mark = Mark(keys[i])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", keys[i], diff)
		}
	}
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", keys[2])); !says(err, saysUnknown) {
		t.Errorf("a revoked key: %v", err)
	}
	w.now = noon.Add(time.Hour - 1)
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", keys[1])); err != nil {
		t.Errorf("a key, shortly before it expires: %v", err)
	}
	w.now = noon.Add(time.Hour)
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", keys[1])); !says(err, "has expired") {
		t.Errorf("a key when it expires: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), request("Authorization", "Bearer "+keys[0])); !errors.Is(err, auth.ErrNone) {
		t.Errorf("a key in another header: %v, want ErrNone", err)
	}
	if _, err := a.Authenticate(t.Context(), request("x-api-KEY", keys[0])); err != nil {
		t.Errorf("the name of a header has no case: %v", err)
	}
	if got := auth.ChallengesOf(a); !cmp.Equal(got, []string{`ApiKey header="X-API-Key"`}) {
		t.Errorf("Challenges() = %q", got)
	}
}

// says reports whether err is an *auth.Error for API keys that contains text, and no key.
func says(err error, text string) bool {
	var refused *auth.Error
	return errors.As(err, &refused) && refused.Scheme == "ApiKey" && strings.Contains(refused.Description, text) && !strings.Contains(refused.Challenge(), prefix)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	w, keys := with(t, Key{ID: "alice", Roles: []string{"admin"}}, Key{ID: "bob", Roles: []string{"requester"}})
	a := w.open(Config{})
	alice, bob := keys[0], keys[1]
	secret := alice[len(prefix)+len("alice_"):]
	signed := func(text string) string { // with the check of a leaked, changed key
		check := checkOf([]byte(text))
		return text + string(check[:])
	}
	for name, tc := range map[string]struct {
		headers []string
		says    string
	}{
		"empty":                 {[]string{""}, saysMalformed},
		"a blank":               {[]string{" "}, saysMalformed},
		"not ASCII":             {[]string{"a2ak_älice_" + secret}, saysMalformed},
		"not UTF-8":             {[]string{"a2ak_\xff\xfe_" + secret}, saysMalformed},
		"control characters":    {[]string{alice[:10] + "\x00\r\n" + alice[13:]}, saysMalformed},
		"huge":                  {[]string{"a2ak_alice_" + strings.Repeat("A", 10<<20)}, saysMalformed},
		"a huge id":             {[]string{signed("a2ak_" + strings.Repeat("a", 1<<20) + "_" + secret[:secretLen])}, saysMalformed},
		"two values":            {[]string{alice, alice}, "more than once"},
		"two different ones":    {[]string{alice, bob}, "more than once"},
		"two in one":            {[]string{alice + "," + bob}, saysMalformed},
		"two, one empty":        {[]string{"", alice}, "more than once"},
		"with Bearer":           {[]string{"Bearer " + alice}, saysMalformed},
		"with a blank":          {[]string{alice + " "}, saysMalformed},
		"in quotes":             {[]string{`"` + alice + `"`}, saysMalformed},
		"cut off":               {[]string{alice[:len(alice)-1]}, saysMalformed},
		"one more":              {[]string{alice + "A"}, saysMalformed},
		"only the hash":         {[]string{fmt.Sprintf("%x", sha256.Sum256([]byte(alice)))}, saysMalformed},
		"another last one":      {[]string{alice[:len(alice)-1] + other(alice[len(alice)-1])}, saysMalformed},
		"in upper case":         {[]string{strings.ToUpper(alice)}, saysMalformed},
		"no id":                 {[]string{signed("a2ak__" + secret[:secretLen])}, saysMalformed},
		"an id in capitals":     {[]string{signed("a2ak_Alice_" + secret[:secretLen])}, saysMalformed},
		"a path":                {[]string{signed("a2ak_../keys_" + secret[:secretLen])}, saysMalformed},
		"another secret":        {[]string{signed("a2ak_alice_" + other(secret[0]) + secret[1:secretLen])}, saysUnknown},
		"another's secret":      {[]string{signed("a2ak_bob_" + secret[:secretLen])}, saysUnknown},
		"nobody's":              {[]string{signed("a2ak_carol_" + secret[:secretLen])}, saysUnknown},
		"nobody's, all zeros":   {[]string{signed("a2ak_carol_" + strings.Repeat("0", secretLen))}, saysUnknown},
		"a new key of no file":  {[]string{newSecret("alice")}, saysUnknown},
		"the id of a long name": {[]string{newSecret(strings.Repeat("a", maxID))}, saysUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			for _, value := range tc.headers {
				headers = append(headers, "X-API-Key", value)
			}
			by, err := a.Authenticate(t.Context(), request(headers...))
			if !says(err, tc.says) || !by.IsZero() {
				t.Errorf("Authenticate() = %v, %v, want one that says %q", by, err, tc.says)
			}
		})
	}
	if _, err := a.Authenticate(t.Context(), request()); !errors.Is(err, auth.ErrNone) {
		t.Errorf("without the header: %v, want ErrNone", err)
	}
}

// other returns another digit.
func other(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

func TestBearer(t *testing.T) {
	t.Parallel()
	w, keys := with(t, Key{ID: "alice", Roles: []string{"admin"}})
	a := w.open(Config{Header: "authorization"})
	for header, want := range map[string]string{
		"Bearer " + keys[0]:      "",
		"bearer " + keys[0]:      "",
		"Bearer  " + keys[0]:     saysMalformed,
		"Bearer":                 saysMalformed,
		"Bearer eyJhbGciOi.e.e":  saysMalformed,
		"Basic YWxpY2U6c2VjcmV0": auth.ErrNone.Error(),
		keys[0]:                  auth.ErrNone.Error(),
	} {
		_, err := a.Authenticate(t.Context(), request("Authorization", header))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", header, err, want)
		}
	}
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", keys[0])); !errors.Is(err, auth.ErrNone) {
		t.Errorf("in the usual header: %v, want ErrNone", err)
	}
	if got := a.Challenges(); !cmp.Equal(got, []string{"Bearer"}) {
		t.Errorf("Challenges() = %q", got)
	}
}

// A file that is not valid changes nothing, and one that is replaces all keys at once.
func TestReload(t *testing.T) {
	t.Parallel()
	w, keys := with(t, Key{ID: "alice", Roles: []string{"requester"}}, Key{ID: "bob", Roles: []string{"requester"}})
	a := w.open(Config{})
	valid := func(key string) bool {
		_, err := a.Authenticate(t.Context(), request("X-API-Key", key))
		return err == nil
	}
	changed := a.Changed()
	good, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":           "",
		"cut off":         string(good[:len(good)-20]),
		"no hash":         "- id: alice\n",
		"not YAML":        "\x00\x01",
		"a typo in a key": strings.Replace(string(good), "sha256", "sha265", 1),
	} {
		w.write(text, 0o600)
		if err := a.Reload(); err == nil {
			t.Errorf("%s: Reload() = nil, want an error", name)
		}
		if !valid(keys[0]) || !valid(keys[1]) {
			t.Errorf("%s: a valid key is refused", name)
		}
	}
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	if err := a.Reload(); err == nil || !valid(keys[0]) {
		t.Errorf("without the file: Reload() = %v, and the key is valid: %v", err, valid(keys[0]))
	}
	w.write(string(good), 0o600)
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Error("Changed() woke although no key has changed")
	default:
	}
	if err := Revoke(w.file, "alice", noon); err != nil {
		t.Fatal(err)
	}
	carol := w.add(Key{ID: "carol", Roles: []string{"requester"}})
	if !valid(keys[0]) || valid(carol) {
		t.Error("the file took effect before it was read")
	}
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("Changed() does not say that the keys were replaced")
	}
	select {
	case <-a.Changed():
		t.Error("Changed() returns what was closed for an earlier change")
	default:
	}
	if valid(keys[0]) || !valid(keys[1]) || !valid(carol) {
		t.Errorf("after the reload: alice %v, bob %v, carol %v, want only alice refused", valid(keys[0]), valid(keys[1]), valid(carol))
	}
}

func (w *world) write(text string, mode os.FileMode) {
	w.t.Helper()
	_ = os.Remove(w.file)
	if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(w.file, mode); err != nil {
		w.t.Fatal(err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	w, _ := with(t, Key{ID: "alice", Roles: []string{"admin"}})
	file := w.file
	for name, tc := range map[string]struct {
		c    Config
		says string
	}{
		"no file":        {Config{}, "no API key file"},
		"a missing file": {Config{File: file + "x"}, "x: correct auth.keys.file or --file, or create the file with a2a-server keys add"},
		"a folder":       {Config{File: filepath.Dir(file)}, "not a regular file"},
		"a bad header":   {Config{File: file, Header: "X-Key\r\n"}, "name of a header field"},
		"a huge tenant":  {Config{File: file, Tenant: strings.Repeat("t", 2<<10)}, "use a shorter name"},
	} {
		if _, err := New(tc.c); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: New() = %v, want %q", name, err, tc.says)
		}
	}
}

// A key that was written into the file in place of its digest is not repeated in errors.
func TestErrorsHaveNoKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	for text, says := range map[string]string{
		"sk-LIVE":                       "expected a list of keys, found a text; write [] for none",
		"- sk-LIVE":                     "expected a mapping",
		"- {sk-LIVE}":                   "expected a mapping",
		"- {id: a, sha256: 7715113}":    "expected a string, found a text",
		"- {id: a, sha256: sk-LIVE}":    "is not the SHA-256 of a key",
		"- {id: a, sha256: [sk-LIVE]}":  "expected a string, found a list",
		"- {id: a, sha256: !b sk-LIVE}": "the tag !b is not supported",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{File: file})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "sk-LIVE") || strings.Contains(err.Error(), "7715113") {
			t.Errorf("New() with the file %q = %v, want %q, and not the key", text, err, says)
		}
	}
}

// Whoever may write to the file could make keys of their own.
func TestModeOfTheFile(t *testing.T) {
	t.Parallel()
	w, _ := with(t, Key{ID: "alice", Roles: []string{"admin"}})
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o660: false, 0o620: false, 0o644: false, 0o602: false, 0o666: false} {
		if err := os.Chmod(w.file, mode); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{File: w.file})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: New() = %v, want valid: %v", mode, err, ok)
		}
	}
}

// Holders are those whose keys count now, with the tenant that they act in.
func TestHolders(t *testing.T) {
	t.Parallel()
	w, _ := with(t, Key{ID: "olga", Roles: []string{"approver"}, Tenant: "acme"}, Key{ID: "late", Expires: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}, Key{ID: "gone"}, Key{ID: "alice", Roles: []string{"requester"}})
	if err := Revoke(w.file, "gone", w.now); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range w.open(Config{Tenant: "home"}).Holders() {
		got = append(got, p.Tenant+"/"+p.Subject+" "+p.Roles[0])
	}
	if want := []string{"home/key:alice requester", "acme/key:olga approver"}; !slices.Equal(got, want) {
		t.Errorf("Holders() = %v, want %v", got, want)
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2027-01-31":                "2027-01-31T00:00:00Z",
		"2027-01-31T12:00:00.9Z":    "2027-01-31T12:00:00Z",
		"2027-01-31T00:30:00+01:00": "2027-01-30T23:30:00Z",
		"9999-12-31T23:59:59Z":      "9999-12-31T23:59:59Z",
	} {
		if at, err := ParseTime(text); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("ParseTime(%q) = %v, %v, want %s", text, at, err, want)
		}
	}
	for _, text := range []string{"", "0001-01-01", "0001-01-01T00:30:00+01:00", "9999-12-31T23:59:59-01:00", "2027-1-31", "2027-01-31 12:00", "2027-01-31T12:00:00"} {
		if at, err := ParseTime(text); err == nil {
			t.Errorf("ParseTime(%q) = %v, want an error", text, at)
		}
	}
}

// Ten thousand keys take at most 10 MiB.
func TestMemoryOfManyKeys(t *testing.T) { //nolint:paralleltest // it measures the heap
	const n = 10_000
	w := &world{t: t, file: filepath.Join(t.TempDir(), "keys.yaml"), now: noon}
	last := w.many(n)
	before := heap()
	a := w.open(Config{Tenant: "acme"})
	used := int64(heap()) - int64(before)
	t.Logf("%d keys take %d KiB", n, used>>10)
	if used > 10<<20 {
		t.Errorf("%d keys take %d KiB, want at most 10 MiB", n, used>>10)
	}
	if _, err := a.Authenticate(t.Context(), request("X-API-Key", last)); err != nil {
		t.Error(err)
	}
}

// many writes a file with n keys, and returns the last one.
func (w *world) many(n int) (last string) {
	var text strings.Builder
	for i := range n {
		k := Key{ID: fmt.Sprintf("service-%05d", i), Person: fmt.Sprintf("corp:person-%05d", i), Roles: []string{"requester", "approver"}, Created: noon, Expires: noon.Add(24 * time.Hour)}
		last = newSecret(k.ID)
		k.hash = sha256.Sum256([]byte(last))
		text.WriteString(k.render())
	}
	if err := os.WriteFile(w.file, []byte(text.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return last
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkAuthenticate(b *testing.B) {
	w := &world{file: filepath.Join(b.TempDir(), "keys.yaml"), now: noon}
	last := w.many(10_000)
	a, err := New(Config{File: w.file, Now: func() time.Time { return noon }})
	if err != nil {
		b.Fatal(err)
	}
	for name, key := range map[string]string{"valid": last, "unknown": newSecret("nobody"), "wrong": newSecret("service-00001")} {
		values := []string{key}
		c := &auth.Credentials{Header: func(string) []string { return values }}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = a.Authenticate(context.Background(), c)
			}
		})
	}
}

// FuzzAuthenticate tries texts as keys: none is valid, and none is worse than refused.
func FuzzAuthenticate(f *testing.F) {
	file := filepath.Join(f.TempDir(), "keys.yaml")
	key, err := Add(file, Key{ID: "alice", Roles: []string{"admin"}}, false)
	if err != nil {
		f.Fatal(err)
	}
	a, err := New(Config{File: file, Now: func() time.Time { return noon }})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", key[:20], "a2ak_alice_", newSecret("alice"), newSecret("bob"), "a2ak_a_b_c", strings.Repeat("_", 200)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		by, err := a.Authenticate(t.Context(), request("X-API-Key", text))
		var refused *auth.Error
		if text != key && (!errors.As(err, &refused) || !by.IsZero()) {
			t.Errorf("Authenticate(%q) = %v, %v", text, by, err)
		}
		if id, _, ok := parse(text); ok && (!strings.HasPrefix(text, prefix+id+"_") || CheckID(id) != nil) {
			t.Errorf("parse(%q) = %q", text, id)
		}
	})
}
