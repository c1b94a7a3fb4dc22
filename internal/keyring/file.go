package keyring

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"

	"a2a-server/internal/privatefile"
)

const (
	version    = 1
	maxFile    = 64 << 10
	maxKeys    = 64
	secretSize = 32 // bytes of a secret, with either algorithm: with ES256 the private key, without its curve
	idSize     = 4  // bytes of the id of a key
)

// file is the keys of a purpose, newest first: the first is in use, the others were before.
type file struct {
	Version int     `json:"version"`
	Purpose Purpose `json:"purpose"`
	Keys    []key   `json:"keys"`
	// Sum is the SHA-256 of the JSON of everything else: a key of which a bit has changed
	// would look like any other.
	Sum string `json:"sha256,omitempty"`
}

type key struct {
	ID        string    `json:"id"` // 8 hexadecimal digits
	Algorithm string    `json:"algorithm"`
	Secret    []byte    `json:"secret"`
	Created   time.Time `json:"created"`
	Until     time.Time `json:"until,omitzero"` // when it ends; zero: it is in use

	overlap time.Duration   // of its purpose
	jwk     jose.JSONWebKey // that signs, private; zero: it seals
	aead    cipher.AEAD     // that seals, and makes its nonces itself; nil: it signs
}

// prepare makes the key ready for its purpose. It fails if the key is not of that purpose.
func (k *key) prepare(t terms) (err error) {
	k.overlap = t.overlap
	if k.Algorithm != t.algorithm || len(k.Secret) != secretSize {
		return errors.New("its algorithm or its length is wrong")
	}
	if k.Algorithm == aes256GCM {
		block, err := aes.NewCipher(k.Secret)
		if err != nil {
			return err
		}
		k.aead, err = cipher.NewGCMWithRandomNonce(block)
		return err
	}
	k.jwk = jose.JSONWebKey{Algorithm: es256, Use: "sig"}
	if k.jwk.Key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), k.Secret); err != nil {
		return err
	}
	sum, err := k.jwk.Thumbprint(crypto.SHA256)
	k.jwk.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	return err
}

// newKey returns a key for a purpose, with an id that no key in others has.
func newKey(p Purpose, now time.Time, others []key) key {
	t := p.terms()
	k := key{Algorithm: t.algorithm, Secret: make([]byte, secretSize), Created: now.UTC().Truncate(time.Second)}
	for made := false; !made; made = k.prepare(t) == nil { // nearly always at once: not every number is a private key
		_, _ = rand.Read(k.Secret) // it never fails
	}
	for {
		var id [idSize]byte
		_, _ = rand.Read(id[:])
		k.ID = hex.EncodeToString(id[:])
		if !slices.ContainsFunc(others, func(o key) bool { return o.ID == k.ID }) {
			return k
		}
	}
}

// without returns the keys that have not ended.
func without(keys []key, now time.Time) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return k.ended(now) })
}

func anyEnded(keys []key, now time.Time) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return k.ended(now) })
}

// ended reports whether a key is no longer accepted. A key that would last longer than its
// overlap was replaced while the clock was wrong; an hour allows for a clock that is set.
func (k *key) ended(now time.Time) bool {
	left := k.Until.Sub(now)
	return !k.Until.IsZero() && (left <= 0 || left > k.overlap+time.Hour)
}

// path returns the file of a purpose.
func path(folder string, p Purpose) string { return filepath.Join(folder, string(p)+".json") }

// sum returns the value that Sum must have.
func (f file) sum() string {
	f.Sum = ""
	raw, err := json.Marshal(f)
	if err != nil {
		return "" // never: all of it is text and times
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))
}

// write replaces the file of a purpose. Call it with the folder locked.
func write(folder string, p Purpose, keys []key) error {
	f := file{Version: version, Purpose: p, Keys: keys}
	f.Sum = f.sum()
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return privatefile.Replace(path(folder, p), append(raw, '\n'), 0)
}

// read returns the keys in the file of a purpose. The error wraps [fs.ErrNotExist], or says
// why the file is refused.
func read(folder string, p Purpose) ([]key, error) {
	name := path(folder, p)
	raw, err := privatefile.Read(name, maxFile)
	if err != nil {
		return nil, err
	}
	keys, err := parse(raw, p)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return keys, nil
}

// parse returns the keys in a file. The error continues a sentence that begins with the
// file's name.
func parse(raw []byte, p Purpose) ([]key, error) {
	t := p.terms()
	damaged := func(why string) error {
		return fmt.Errorf("is damaged (%s): restore it from a backup, or remove it so that the next start makes a new one; then %s", why, t.lost)
	}
	var f file
	err := json.Unmarshal(raw, &f)
	switch {
	case f.Version > version: // whatever else it has
		return nil, fmt.Errorf("has version %d, and this program reads version %d: it is of a newer program; run that program", f.Version, version)
	case err != nil:
		return nil, damaged("it does not have the form of a file of keys")
	case f.Sum == "" || f.Sum != f.sum():
		return nil, damaged("its checksum does not fit")
	case f.Version != version || f.Purpose != p:
		return nil, fmt.Errorf("is the file of keys for %q: restore the right one, or remove it", f.Purpose)
	case len(f.Keys) == 0 || len(f.Keys) > maxKeys:
		return nil, damaged(fmt.Sprintf("it has %d keys", len(f.Keys)))
	}
	for i := range f.Keys {
		k := &f.Keys[i]
		if id, err := hex.DecodeString(k.ID); err != nil || len(id) != idSize {
			return nil, damaged("an id is not valid")
		}
		if k.prepare(t) != nil {
			return nil, damaged("a key is not valid")
		}
		if (i == 0) != k.Until.IsZero() {
			return nil, damaged("not exactly one key is in use")
		}
	}
	return f.Keys, nil
}

// makeFolder makes the folder of keys, for the server only.
func makeFolder(folder string, log zerolog.Logger) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := tighten(folder, log); err != nil {
		return err
	}
	return privatefile.SyncFolder(filepath.Dir(folder))
}

// Check returns why [Open] would refuse a folder, and changes nothing.
func Check(folder string) error {
	if err := closed(folder); err != nil {
		return err
	}
	for _, p := range Purposes() {
		if err := closed(path(folder, p)); err != nil {
			return err
		}
		if info, err := os.Stat(path(folder, p)); err == nil && info.Mode().Perm()&0o070 != 0 {
			continue // Open removes the rights of the group before it reads
		}
		if _, err := read(folder, p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the server's own keys: %w", err)
		}
	}
	return nil
}

// closed refuses a file or folder with rights for all users, if it exists.
func closed(name string) error {
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Perm()&0o007 != 0:
		return fmt.Errorf("%s has the mode %04o, so that others may know or change the keys in it: run chmod go-rwx %[1]s, and if others use this machine, make new keys with a2a-server signing rotate", name, info.Mode().Perm())
	}
	return nil
}

// tighten removes the rights of the group, which some volumes give to every file when they are
// mounted. Rights for all users are refused: nothing sets them on purpose, and the keys may be
// known.
func tighten(name string, log zerolog.Logger) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if err := closed(name); err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o070 != 0 {
		log.Warn().Str("file", name).Str("mode", fmt.Sprintf("%04o", mode)).Msg("removing the rights of the group to the server's own keys")
		return os.Chmod(name, mode&^0o070)
	}
	return nil
}
