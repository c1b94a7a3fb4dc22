package oidc

import (
	"encoding/base64"
	"errors"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// maxToken bounds a token, in bytes. Providers stay well below: proxies refuse headers
// of 8 or 16 KiB.
const maxToken = 16 << 10

// token is a JWT that was read and not yet verified: nothing in it is true.
type token struct {
	raw       string
	algorithm string
	keyID     string
	kind      string // `typ` as tokenType writes it; empty: none
	payload   []byte
	claims    map[string]any
	issuer    string
}

// bearer returns the token of a request. The error is auth.ErrNone if there is none.
func bearer(header func(string) []string) (string, error) {
	values := header("Authorization")
	if len(values) == 0 {
		return "", auth.ErrNone
	}
	for _, value := range values {
		scheme, text, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "bearer") {
			continue
		}
		text = strings.Trim(text, " ")
		switch {
		case len(values) > 1:
			return "", &auth.Error{Code: "invalid_request", Description: "the request has several Authorization headers: send one"}
		case text == "":
			return "", &auth.Error{Code: "invalid_request", Description: "the Authorization header has no token: write Bearer and the token"}
		case len(text) > maxToken:
			return "", refuse("the token is longer than 16 KiB: get one with fewer claims")
		}
		return text, nil
	}
	return "", auth.ErrNone
}

// read decodes a token in the compact serialization (RFC 7515, section 3.1), and rejects a
// token with more than a single meaning. It verifies nothing.
func read(raw string) (*token, error) {
	parts := strings.SplitN(raw, ".", 6)
	switch len(parts) {
	case 3:
	case 5:
		return nil, refuse("the token is encrypted: get one that is only signed")
	default:
		return nil, refuse("the token is not a JWT: get an access token in the form of a JWT")
	}
	header, _, err := object("header", parts[0])
	if err != nil {
		return nil, err
	}
	t := &token{raw: raw}
	// A critical extension must be understood (RFC 7515, section 4.1.11), and this package
	// supports none. b64 and zip would change the signed bytes.
	for _, name := range []string{"crit", "b64", "zip", "enc"} {
		if _, ok := header[name]; ok {
			return nil, refuse("the header of the token has %s, which this server does not support", name)
		}
	}
	for name, into := range map[string]*string{"alg": &t.algorithm, "kid": &t.keyID, "typ": &t.kind} {
		value, ok := header[name]
		text, isText := value.(string)
		switch {
		case ok && !isText:
			return nil, refuse("%s in the header of the token is not a text", name)
		case text == "" && name != "typ":
			return nil, refuse("the header of the token has no %s: the issuer has to write it", name)
		}
		*into = text
	}
	t.kind = tokenType(t.kind)
	if t.claims, t.payload, err = object("payload", parts[1]); err != nil {
		return nil, err
	}
	if _, err := decode(parts[2]); err != nil {
		return nil, refuse("the signature of the token is not base64url")
	}
	issuer, ok := t.claims["iss"].(string)
	if !ok || issuer == "" {
		return nil, refuse("the token names no issuer (iss)")
	}
	t.issuer = issuer
	return t, nil
}

var errLine = errors.New("unexpected line break")

// decode decodes a part of a token. It accepts a single encoding only, so that a token is not
// remembered under several texts: the decoder of the standard library skips line ends.
func decode(part string) ([]byte, error) {
	if strings.ContainsAny(part, "\r\n") {
		return nil, errLine
	}
	return base64.RawURLEncoding.Strict().DecodeString(part)
}

// object decodes a part of a token. Readers disagree about duplicate names, so they are an
// error.
func object(what, part string) (map[string]any, []byte, error) {
	raw, err := decode(part)
	if err != nil {
		return nil, nil, refuse("the %s of the token is not base64url", what)
	}
	members, err := strictjson.DecodeObject(raw)
	if err != nil {
		return nil, nil, refuse("the %s of the token is not a valid JSON object", what)
	}
	return members, raw, nil
}

// tokenType returns a `typ` as it is compared (RFC 7515, section 4.1.9).
func tokenType(typ string) string {
	typ = strings.ToLower(typ)
	return strings.TrimPrefix(typ, "application/")
}
