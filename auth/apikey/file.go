package apikey

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// maxFile is the maximum size of a file of keys, in bytes: some 30,000 keys.
const maxFile = 8 << 20

// Key is an entry of a file of keys: everything except the key itself, of which the file
// has a hash.
type Key struct {
	ID      string    `json:"id"`               // unique in the file, see [CheckID]
	Kind    auth.Kind `json:"kind"`             // Defaults to a person.
	Person  string    `json:"person,omitempty"` // see [auth.Principal.Person]
	Tenant  string    `json:"tenant,omitempty"` // "": the default of the Authenticator
	Roles   []string  `json:"roles"`
	Created time.Time `json:"created,omitzero"` // zero: unknown
	Expires time.Time `json:"expires,omitzero"` // zero: it does not
	Revoked time.Time `json:"revoked,omitzero"` // zero: it is not

	hash  hash
	place strictyaml.Place // of the entry in the file
}

// principal returns whom the key authenticates.
func (k *Key) principal(tenant string) auth.Principal {
	if k.Tenant != "" {
		tenant = k.Tenant
	}
	return auth.Principal{
		Tenant: tenant, Subject: subjects + k.ID, Person: k.Person, Kind: k.Kind,
		Roles: k.Roles, Method: Method, Mark: markOf(k.hash), Expires: k.Expires,
	}
}

// CheckID returns an error unless id can be the id of a key: 1 to 64 lower-case letters,
// digits, and dots and dashes between them.
func CheckID(id string) error {
	if !validID(id) {
		return fmt.Errorf("%s cannot be the id of a key: write 1 to %d lower-case letters and digits, with dots and dashes between them", visible.Quote(id, maxID), maxID)
	}
	return nil
}

// Load returns the keys in a file, in its order.
func Load(path string) ([]Key, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parseFile(path, text)
}

func readFile(path string) ([]byte, error) {
	text, err := privatefile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no API key file at %s: correct auth.keys.file or --file, or create the file with a2a-server keys add ID --role ROLE --file %[1]s: %[2]w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("API keys: %w", err)
	}
	return text, nil
}

// parseFile returns the keys in a file. The error lists all problems.
func parseFile(path string, text []byte) ([]Key, error) {
	report := strictyaml.Report{File: path}
	root, ok := report.Parse(text)
	var keys []Key
	if ok {
		keys = readKeys(root)
	}
	var errs []error
	for i, p := range report.Problems() {
		if i == strictyaml.MaxShown {
			errs = append(errs, fmt.Errorf("%s: and %d more problems", path, len(report.Problems())-i))
			break
		}
		errs = append(errs, errors.New(p.String()))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the file of API keys is not valid:\n%w", err)
	}
	return keys, nil
}

func readKeys(root strictyaml.Node) []Key {
	// An empty file is more likely a mistake than the wish to lock out all callers.
	items, _ := root.Withheld().Items("a list of keys", "; write [] for none")
	keys := make([]Key, 0, len(items))
	lines := make(map[string]int, len(items))
	for _, item := range items {
		k := readKey(item)
		if line, twice := lines[k.ID]; twice && k.ID != "" {
			item.Below("id").Add("%s has a key on line %d already; remove one", k.ID, line)
		}
		lines[k.ID] = item.Place().Line
		keys = append(keys, k)
	}
	return keys
}

func readKey(n strictyaml.Node) Key {
	k := Key{place: n.Place()}
	var f struct{ ID, SHA256, Kind, Person, Tenant, Roles, Created, Expires, Revoked strictyaml.Node }
	if !n.Decode(&f) {
		return k
	}
	k.ID, k.hash = parsed(f.ID, parseID), parsed(f.SHA256, parseHash)
	k.Kind, k.Person, k.Tenant = optional(f.Kind, parseKind), optional(f.Person, parseName), optional(f.Tenant, parseName)
	if !f.Roles.Missing() {
		items, _ := f.Roles.Items("a list of roles", "")
		for _, item := range items {
			if role := parsed(item, parseName); role != "" && !slices.Contains(k.Roles, role) {
				k.Roles = append(k.Roles, role)
			}
		}
	}
	k.Created, k.Expires, k.Revoked = optional(f.Created, ParseTime), optional(f.Expires, ParseTime), optional(f.Revoked, ParseTime)
	return k
}

// parsed returns the value of a text.
func parsed[T any](n strictyaml.Node, parse func(string) (T, error)) (v T) {
	if text, ok := n.Text(); ok {
		var err error
		if v, err = parse(text); err != nil {
			n.Add("%v", err)
		}
	}
	return v
}

// optional is parsed for a text that may be missing.
func optional[T any](n strictyaml.Node, parse func(string) (T, error)) (v T) {
	if n.Missing() {
		return v
	}
	return parsed(n, parse)
}

func parseID(text string) (string, error)   { return strings.Clone(text), CheckID(text) }
func parseName(text string) (string, error) { return strings.Clone(text), checkName(text) }

func parseHash(text string) (h hash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) || hash(raw) == h {
		return h, errors.New("is not the SHA-256 of a key, which has 64 hexadecimal digits; a2a-server keys add writes it")
	}
	return hash(raw), nil
}

// kindPerson is how a file writes [auth.KindPerson].
const kindPerson = "person"

func parseKind(text string) (auth.Kind, error) {
	switch text {
	case kindPerson:
		return auth.KindPerson, nil
	case string(auth.KindService):
		return auth.KindService, nil
	}
	return "", fmt.Errorf("%s is not a kind; write %s or %s", visible.Quote(text, 60), kindPerson, auth.KindService)
}

// checkName returns an error unless a text can be the name of a tenant, a person or a role.
func checkName(text string) error {
	switch {
	case strings.TrimSpace(text) != text || text == "":
		return fmt.Errorf("%s is empty, or begins or ends with a blank; write a name", visible.Quote(text, 60))
	case visible.Line(text) != text:
		return fmt.Errorf("%s has invisible characters; remove them", visible.Quote(text, 60))
	case len(text) > auth.MaxOwner/2:
		return fmt.Errorf("the name has %d bytes; at most %d are allowed", len(text), auth.MaxOwner/2)
	}
	return nil
}

// ParseTime parses a date, which means its beginning in UTC, or a time of RFC 3339, of which
// it drops fractions of seconds.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		at, err := time.Parse(layout, text)
		// In UTC, the first and the last hours are in years that nothing can write.
		if at = stored(at); err == nil && !at.IsZero() && at.Year() >= 1 && at.Year() <= 9999 {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a date; write one such as 2027-01-31, or with a time 2027-01-31T12:00:00Z", visible.Quote(text, 60))
}
