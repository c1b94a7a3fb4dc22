package oidc

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
)

// Whatever is sent as a token is read as one, or refused; nothing that is read without its
// required parts gets as far as the keys.
func FuzzToken(f *testing.F) {
	encode := base64.RawURLEncoding.EncodeToString
	token := func(header, claims string) string {
		return encode([]byte(header)) + "." + encode([]byte(claims)) + ".c2ln"
	}
	const header = `{"alg":"ES256","kid":"k1","typ":"at+jwt"}`
	for _, claims := range []string{
		`{"iss":"https://idp.example","aud":"a2a","sub":"alice","exp":4000000000}`,
		`{"iss":"https://idp.example","aud":["a","a2a"],"sub":"alice","exp":4e9,"nbf":1,"act":{"sub":"agent","act":{"sub":"desk"}},"groups":["a b","c"],"org":"acme"}`,
		`{"iss":"https://idp.example","aud":"a2a","sub":"a","client_id":"a","exp":4000000000,"realm":{"groups":"x"}}`,
	} {
		f.Add(token(header, claims))
	}
	f.Add(token(`{"alg":"none"}`, "{}"))
	f.Add(token(`{"alg":"ES256","kid":"k1","typ":"at+jwt","crit":["exp"]}`, `[]`))
	f.Add("a.b.c.d.e")
	f.Add("..")
	i := &issuer{Config: Config{
		Name: "corp", Issuer: "https://idp.example", Audiences: []string{"a2a"}, Algorithms: []string{"ES256"}, TokenType: "at+jwt", Subject: "sub", Person: "realm.person",
		Tenant: Tenant{Claim: "org"}, Roles: Roles{Claim: "groups"},
	}}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, raw string) {
		refused := func(err error) bool {
			var invalid *auth.Error
			if err != nil && (!errors.As(err, &invalid) || len(invalid.Description) > 1000) {
				t.Fatalf("error of a token: %v", err)
			}
			return err != nil
		}
		read, err := read(raw)
		if refused(err) {
			return
		}
		if strings.Count(raw, ".") != 2 || read.algorithm == "" || read.keyID == "" || read.issuer == "" {
			t.Fatalf("%q was read as %+v", raw, read)
		}
		kind, use := i.checkType(read), i.checkUse(read, now)
		who, err := i.principal(read, false)
		if refused(kind) || refused(use) || refused(err) {
			return
		}
		switch err := who.Validate(); {
		case err != nil:
			t.Fatal(err)
		case !strings.HasPrefix(who.Subject, "corp:") || who.Subject == "corp:", who.Tenant == "", !who.Expires.After(now), len(who.Chain) > maxChain:
			t.Fatalf("%q is for %+v", raw, who)
		}
	})
}

// Whatever an issuer publishes, its keys are public ones that can be verified with.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"EC","kid":"k1","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"OKP","kid":"k1","crv":"Ed25519","use":"sig","alg":"EdDSA","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","kid":"k1","n":"AQ","e":"AQAB","key_ops":["verify"],"x5c":["AA=="]}]}`))
	f.Add([]byte(`{"keys":[{"kty":"oct","kid":"k1","k":"AA"},{}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		keys, _, err := readKeys(raw)
		if err != nil && keys != nil {
			t.Fatalf("keys with an error: %v", err)
		}
		for id, all := range keys {
			if id == "" || len(all) == 0 || len(all) > maxSameID {
				t.Fatalf("%d keys have the id %q", len(all), id)
			}
			for _, k := range all {
				n := 0
				for _, name := range algorithms() {
					if k.signs(name) {
						n++
					}
				}
				if n == 0 || k.signs("none") || k.signs("HS256") || k.signs("") {
					t.Fatalf("%T signs %d algorithms", k.public, n)
				}
			}
		}
	})
}
