package engine

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/keyring"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
)

// PageTokens makes and checks the codes of page tokens. It must be safe for concurrent use.
type PageTokens interface {
	Tag(data []byte) []byte // of keyring.TagSize bytes
	Verify(data, tag []byte) bool
}

// maxPageToken bounds the length of the tokens that are checked, in bytes; valid tokens have
// about 100.
const maxPageToken = 1 << 10

// tagText is the length of the code at the beginning of a token.
var tagText = base64.RawURLEncoding.EncodedLen(keyring.TagSize)

// pageTokens makes the page tokens of a list for a caller. A token is the cursor of the store,
// after a code over caller, list, filters and cursor. So a token that is forged, or belongs to
// another caller or query, is refused before anything is read.
type pageTokens struct {
	codes PageTokens
	field string // the name of the token in errors
	bound []byte
}

// newPageTokens returns the page tokens of a list, which its name and filters tell from other lists.
func newPageTokens(codes PageTokens, by auth.Principal, field, list string, filters ...string) pageTokens {
	t := pageTokens{codes: codes, field: field, bound: make([]byte, 0, 256)}
	for _, part := range append([]string{list, by.Tenant, by.Subject}, filters...) {
		t.bound = binary.AppendUvarint(t.bound, uint64(len(part)))
		t.bound = append(t.bound, part...)
	}
	return t
}

// seal returns the token for a cursor; "" for none.
func (t pageTokens) seal(cursor string) string {
	if cursor == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(t.codes.Tag(t.data(cursor))) + cursor
}

// open returns the cursor in a token. It returns an error if the token is not of this list and
// caller.
func (t pageTokens) open(token string) (cursor string, err error) {
	if token == "" {
		return "", nil
	}
	if len(token) <= tagText || len(token) > maxPageToken || strings.ContainsAny(token[:tagText], "\r\n") {
		return "", t.foreign()
	}
	tag, err := base64.RawURLEncoding.Strict().DecodeString(token[:tagText])
	if err != nil || !t.codes.Verify(t.data(token[tagText:]), tag) {
		return "", t.foreign()
	}
	return token[tagText:], nil
}

// foreign is the error of a token made for another caller, for another query, or by another
// server.
func (t pageTokens) foreign() error {
	return task.Invalid(t.field, "is not a token of this query: begin again without one")
}

// translate is the function translate for the error of a query with the cursor of a token.
func (t pageTokens) translate(err error) error {
	if errors.Is(err, store.ErrCursor) {
		return t.foreign()
	}
	return tasklog.Translate(err)
}

// pageSize returns the size of a page of a client's list, where 0 means 50.
func pageSize(n int) (int, error) {
	if n < 0 || n > 100 {
		return 0, task.Invalid("pageSize", "is %d; 1 to 100 are allowed", n)
	}
	return cmp.Or(n, 50), nil
}

// data is the input of the code of a cursor.
func (t pageTokens) data(cursor string) []byte {
	return append(t.bound[:len(t.bound):len(t.bound)], cursor...)
}
