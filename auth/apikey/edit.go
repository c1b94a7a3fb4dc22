package apikey

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/lists"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/suggest"
)

// ErrExists is the error of [Add] for an id that has a key.
var ErrExists = errors.New("a key with this id already exists")

// Add makes a new key, adds it to the file at path, and returns it; it cannot be retrieved
// later. A missing file is created with mode 0600. If the id already has a key, even a revoked
// one, the error is [ErrExists], unless replace is true: then the new key replaces the old
// key, and its holder owns everything the old key's holder owned.
//
// Programs that add and revoke at the same time wait for each other, and a crash leaves either
// the old or the new file. Comments in the file are kept if it is written line by line, as Add
// does it.
func Add(path string, k Key, replace bool) (key string, err error) {
	if err := k.check(); err != nil {
		return "", err
	}
	k.Created, k.Expires = stored(k.Created), stored(k.Expires)
	key = newSecret(k.ID)
	k.hash = sha256.Sum256([]byte(key))
	err = edit(path, true, func(text string, keys []Key) (string, []Key, error) {
		at := slices.IndexFunc(keys, func(other Key) bool { return other.ID == k.ID })
		switch {
		case at < 0:
			if text == "" {
				text = header
			}
			return text + k.render(), append(keys, k), nil
		case !replace:
			return "", nil, fmt.Errorf("%w: %s in %s, line %d", ErrExists, k.ID, path, keys[at].place.Line)
		}
		first, next := lineRange(text, keys, at)
		keys[at] = k
		return splice(text, first, next, k.render()), keys, nil
	})
	if err != nil {
		return "", err
	}
	return key, nil
}

// Revoke marks a key in the file at path as revoked. Its entry stays, so that the id is not
// reused by accident. To revoke a key again changes nothing.
func Revoke(path, id string, now time.Time) error {
	return edit(path, false, func(text string, keys []Key) (string, []Key, error) {
		at := slices.IndexFunc(keys, func(k Key) bool { return k.ID == id })
		if at < 0 {
			ids := lists.Map(keys, func(k Key) string { return k.ID })
			return "", nil, fmt.Errorf("%s has no key %q%s", path, id, suggest.DidYouMean(id, "", ids))
		}
		k := &keys[at]
		if !k.Revoked.IsZero() {
			return text, keys, nil
		}
		k.Revoked = stored(now)
		line := strings.Repeat(" ", k.place.Column-1) + "revoked: " + k.Revoked.Format(time.RFC3339) + "\n"
		return splice(text, k.place.Line+1, k.place.Line+1, line), keys, nil
	})
}

// check returns the fault of a key that is to be added, or nil.
func (k *Key) check() error {
	if err := CheckID(k.ID); err != nil {
		return err
	}
	if k.Kind != auth.KindPerson && k.Kind != auth.KindService {
		return fmt.Errorf("unknown kind %q: use %s or %s", k.Kind, kindPerson, auth.KindService)
	}
	for _, name := range append([]string{k.Person, k.Tenant}, k.Roles...) {
		if name == "" {
			continue
		}
		if err := checkName(name); err != nil {
			return err
		}
	}
	by := k.principal("")
	return by.Validate()
}

// stored returns a time as a file has it.
func stored(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }

// header is the beginning of a new file.
const header = `# API keys of a2a-server: hashes, not the keys. 'a2a-server keys' changes this file, and
# people may too. A running server reads it again when it gets SIGHUP.
`

// edit changes the file at path. change gets the text and the keys of the file, and returns
// the new text and the keys that it should contain. If the text does not parse to these keys,
// because the file is not written as Add writes it, the whole file is written from the keys.
func edit(path string, create bool, change func(text string, keys []Key) (string, []Key, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the folder to lock is that of the file itself
	}
	unlock, err := privatefile.Lock(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	if err := privatefile.Sweep(path); err != nil {
		return err
	}
	var keys []Key
	text, err := readFile(path)
	switch {
	case create && errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if keys, err = parseFile(path, text); err != nil {
			return err
		}
	}
	before := string(text)
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	after, want, err := change(before, keys)
	if err != nil {
		return err
	}
	if got, err := parseFile(path, []byte(after)); err != nil || !slices.EqualFunc(got, want, same) {
		after = header
		for i := range want {
			after += want[i].render()
		}
		if got, err := parseFile(path, []byte(after)); err != nil || !slices.EqualFunc(got, want, same) {
			return fmt.Errorf("%s cannot be written so that it reads the same (%w): change it by hand", path, err)
		}
	}
	if after == string(text) {
		return nil
	}
	if len(after) > maxFile {
		return fmt.Errorf("%s would be larger than %d MiB: remove keys that are revoked or have expired", path, maxFile>>20)
	}
	return privatefile.Replace(path, []byte(after), 0o040)
}

func same(a, b Key) bool { return a.render() == b.render() }

// render returns the entry of a key in a file. Names are in quotes: 007, no and 1e5 are none
// without them.
func (k *Key) render() string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			indent := "  "
			if b.Len() == 0 {
				indent = "- "
			}
			b.WriteString(indent + key + ": " + value + "\n")
		}
	}
	line("id", quoted(k.ID))
	line("sha256", quoted(hex.EncodeToString(k.hash[:])))
	if k.Kind != auth.KindPerson {
		line("kind", string(k.Kind))
	}
	line("person", quoted(k.Person))
	line("tenant", quoted(k.Tenant))
	if len(k.Roles) > 0 {
		line("roles", "["+strings.Join(lists.Map(k.Roles, quoted), ", ")+"]")
	}
	for _, at := range []struct {
		key  string
		time time.Time
	}{{"created", k.Created}, {"expires", k.Expires}, {"revoked", k.Revoked}} {
		if !at.time.IsZero() {
			line(at.key, at.time.Format(time.RFC3339))
		}
	}
	return b.String()
}

// quoted returns a name in quotes that mean the same in JSON and YAML; "" for none.
func quoted(name string) string {
	if name == "" {
		return ""
	}
	text, err := json.Marshal(name)
	if err != nil {
		return `""` // never: it is a string
	}
	return string(text)
}

// lineRange returns the first line of an entry and the line after it: comments before the next
// entry belong to that entry.
func lineRange(text string, keys []Key, at int) (first, next int) {
	lines := strings.SplitAfter(text, "\n")
	next = len(lines)
	if at+1 < len(keys) {
		next = keys[at+1].place.Line
	}
	first = keys[at].place.Line
	for next-1 > first {
		line := strings.TrimSpace(lines[next-2])
		if line != "" && line[0] != '#' {
			break
		}
		next--
	}
	return first, next
}

// splice replaces the lines from first to before next, which count from 1.
func splice(text string, first, next int, with string) string {
	lines := strings.SplitAfter(text, "\n")
	first, next = min(first-1, len(lines)), min(next-1, len(lines))
	return strings.Join(lines[:first], "") + with + strings.Join(lines[next:], "")
}
