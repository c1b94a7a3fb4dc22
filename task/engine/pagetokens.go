package engine

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/keyring"
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
	bound []byte
}

// tokens returns the page tokens of a list, which its name and filters tell from other lists.
func (e *Engine) tokens(by auth.Principal, list string, filters ...string) pageTokens {
	t := pageTokens{codes: e.cfg.PageTokens, bound: make([]byte, 0, 256)}
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

// open returns the cursor in a token. ok is false if the token is not of this list and caller.
func (t pageTokens) open(token string) (cursor string, ok bool) {
	if token == "" {
		return "", true
	}
	if len(token) <= tagText || len(token) > maxPageToken || strings.ContainsAny(token[:tagText], "\r\n") {
		return "", false
	}
	tag, err := base64.RawURLEncoding.Strict().DecodeString(token[:tagText])
	if err != nil || !t.codes.Verify(t.data(token[tagText:]), tag) {
		return "", false
	}
	return token[tagText:], true
}

// data is the input of the code of a cursor.
func (t pageTokens) data(cursor string) []byte {
	return append(t.bound[:len(t.bound):len(t.bound)], cursor...)
}
