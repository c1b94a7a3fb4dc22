package auth

import (
	"slices"
	"strings"
	"testing"
)

// Two principals are known to be different persons only if one authenticator says so, or the name of
// a person.
func TestDistinctFrom(t *testing.T) {
	t.Parallel()
	as := func(method, subject, person string, chain ...string) Principal {
		return Principal{Tenant: "acme", Method: method, Subject: subject, Person: person, Chain: chain}
	}
	seen := func(p Principal) Principal { p.PersonSeen = true; return p }
	for name, tc := range map[string]struct {
		p, q     Principal
		distinct bool
		same     bool
	}{
		"two keys":                       {as("api_key", "key:a", ""), as("api_key", "key:b", ""), true, false},
		"a key and itself":               {as("api_key", "key:a", ""), as("api_key", "key:a", ""), false, true},
		"two keys of a person":           {as("api_key", "key:a", "alice"), as("api_key", "key:b", "alice"), false, true},
		"two keys, one with a person":    {as("api_key", "key:a", "alice"), as("api_key", "key:b", ""), true, false},
		"a key and a token":              {as("api_key", "key:a", ""), as("oidc", "corp:a", ""), false, false},
		"of two issuers":                 {as("oidc", "corp:a", ""), as("oidc", "other:b", ""), false, false},
		"both with a person":             {seen(as("api_key", "key:a", "alice")), seen(as("oidc", "corp:b", "bob")), true, false},
		"both named by the operator":     {as("api_key", "key:a", "alice"), as("socket", "socket:b", "bob"), true, false},
		"one of them never seen":         {as("api_key", "key:a", "alice"), seen(as("oidc", "corp:b", "bob")), false, false},
		"a key of nobody":                {as("api_key", "key:a", "corp:alice"), as("oidc", "corp:4711", ""), false, false},
		"a key of nobody, and a key":     {as("api_key", "key:a", "corp:alice"), as("api_key", "key:b", ""), false, false},
		"only one with a person":         {as("api_key", "key:a", "alice"), as("oidc", "corp:b", ""), false, false},
		"a person named by the subject":  {as("socket", "socket:ops", "corp:a"), as("oidc", "corp:a", ""), false, true},
		"another subject of that source": {seen(as("socket", "socket:ops", "corp:a")), as("oidc", "corp:b", ""), true, false},
		"the same, the other way":        {as("oidc", "corp:b", ""), seen(as("socket", "socket:ops", "corp:a")), true, false},
		"an agent of both":               {as("api_key", "key:a", "", "bot"), as("api_key", "key:b", "", "bot"), false, false},
		"own authenticators":             {as("mine", "a", ""), as("mine", "b", ""), true, false},
		"two own authenticators":         {as("mine", "a", ""), as("other", "b", ""), false, false},
		"nobody":                         {as("api_key", "key:a", ""), Principal{}, false, false},
		"anonymous":                      {as("api_key", "key:a", ""), Anonymous(), false, false},
		"the persona of a demo":          {Anonymous(), Persona(), true, false},
		"the persona and a caller":       {as("api_key", "key:a", ""), Persona(), false, false},
		"the persona and itself":         {Persona(), Persona(), false, true},
		"a caller with its name":         {Anonymous(), as("mine", Persona().Subject, ""), false, false},
	} {
		if got := tc.p.DistinctFrom(tc.q); got != tc.distinct || got != tc.q.DistinctFrom(tc.p) {
			t.Errorf("%s: DistinctFrom() = %v, want %v both ways", name, got, tc.distinct)
		}
		if got := tc.p.SamePerson(tc.q); got != tc.same {
			t.Errorf("%s: SamePerson() = %v, want %v", name, got, tc.same)
		}
	}
}

// A key is known to be another person than somebody only if the login that it names is.
func TestKeyIsAsDistinctAsTheLoginThatItNames(t *testing.T) {
	t.Parallel()
	bob := Principal{Subject: "partner:b2", Person: "bob@example.com", PersonSeen: true, Method: "oidc"}
	for name, tc := range map[string]struct{ login, q Principal }{
		"the login itself, in another case":     {Principal{Subject: "corp:Bob@Example.com"}, Principal{Subject: "corp:Bob@Example.com", Method: "oidc"}},
		"a person whom only q's provider names": {Principal{Subject: "corp:b1"}, bob},
		"a person whom both providers name":     {Principal{Subject: "corp:b1", Person: "Bob@example.com", PersonSeen: true}, bob},
		"another login of a third provider":     {Principal{Subject: "corp:b1"}, Principal{Subject: "socket:2", Person: "partner:b2", PersonSeen: true, Method: "socket"}},
		"who acted for q":                       {Principal{Subject: "corp:b1", Person: "bob@example.com", PersonSeen: true}, Principal{Subject: "corp:c", Person: "carl", PersonSeen: true, Chain: []string{"corp:b1"}}},
		"a wide colon":                          {Principal{Subject: "corp\uff1ab1"}, bob},
		"somebody else":                         {Principal{Subject: "corp:c1", Person: "carl@example.com", PersonSeen: true}, bob},
	} {
		key := Principal{Subject: "key:bob", Person: tc.login.Subject, PersonSeen: true, Method: "api_key"}
		if tc.login.Person != "" { // the server completes the key so
			key.Person, key.Login = tc.login.Person, strings.ToLower(tc.login.Subject)
		}
		tc.login.Method = "oidc"
		if want, got := tc.login.DistinctFrom(tc.q), key.DistinctFrom(tc.q); want != got || want != tc.q.DistinctFrom(key) || want != (name == "somebody else") {
			t.Errorf("%s: the login is known to be another person: %v, the key: %v", name, want, got)
		}
	}
}

// The configuration names the person of a subject, and contradicts no credential.
func TestPeople(t *testing.T) {
	t.Parallel()
	of := People{"alice": {"key:a", "acme/corp:a"}}
	for name, tc := range map[string]struct {
		p    Principal
		want string
		err  bool
	}{
		"a subject":                  {Principal{Tenant: "x", Subject: "key:a"}, "alice", false},
		"of the tenant":              {Principal{Tenant: "acme", Subject: "corp:a"}, "alice", false},
		"in another case":            {Principal{Tenant: "acme", Subject: "corp:A"}, "alice", false},
		"of another tenant":          {Principal{Tenant: "x", Subject: "corp:a"}, "", false},
		"without a tenant":           {Principal{Subject: "corp:a"}, "", false},
		"the same in the credential": {Principal{Subject: "key:a", Person: "alice"}, "alice", false},
		"another in the credential":  {Principal{Subject: "key:a", Person: "bob"}, "", true},
		"not listed":                 {Principal{Subject: "key:b", Person: "bob"}, "bob", false},
	} {
		got, err := of.Known(tc.p)
		if got.Person != tc.want || (err != nil) != tc.err || err != nil && !got.IsZero() {
			t.Errorf("%s: Known() = %+v, %v, want the person %q, an error: %v", name, got, err, tc.want, tc.err)
		}
	}
}

// An issuer writes the name of a person in its own way: a claim email that is Alice@Example.com is the
// person alice@example.com of a key, and no second person.
func TestPersonIsNoOtherByItsSpelling(t *testing.T) {
	t.Parallel()
	key := Principal{Subject: "key:1", Person: "alice@example.com", Method: "api_key"}
	for _, person := range []string{"Alice@Example.com", "alice@example.com ", "ａlice@example.com"} {
		token := Principal{Subject: "corp:00u7", Person: person, Method: "oidc"}
		if key.DistinctFrom(token) {
			t.Errorf("%q is known to be another person than %q, so both count as votes", person, key.Person)
		}
	}
}

// A subject that two entries name, once with its tenant, is of one person: the same at each request.
func TestPersonIsTheSameAtEachRequest(t *testing.T) {
	t.Parallel()
	of := People{"alice": {"key:1", "corp:a"}, "bob": {"acme/corp:a"}}
	first, err := of.Known(Principal{Tenant: "acme", Subject: "corp:a"})
	if err != nil {
		return // refused is fine
	}
	for range 200 {
		if now, _ := of.Known(Principal{Tenant: "acme", Subject: "corp:a"}); now.Person != first.Person {
			t.Fatalf("corp:a is %s, and %s at the next request", first.Person, now.Person)
		}
	}
}

// A stored principal has the persons whom its names have now, in its chain.
func TestPeopleOfAStoredPrincipal(t *testing.T) {
	t.Parallel()
	of := People{"alice": {"key:a", "acme/corp:a"}, "carl": {"corp:a"}, "bot's owner": {"corp:bot"}}
	for name, tc := range map[string]struct {
		p    Principal
		want []string // chain
	}{
		"a subject":              {Principal{Tenant: "acme", Subject: "key:a", Person: "al"}, []string{"alice"}},
		"of the tenant":          {Principal{Tenant: "acme", Subject: "corp:a"}, []string{"alice"}},
		"of another tenant":      {Principal{Tenant: "x", Subject: "corp:a"}, []string{"carl"}},
		"the person of a key":    {Principal{Tenant: "acme", Subject: "key:x", Person: "corp:a"}, []string{"alice"}},
		"who acts for it":        {Principal{Subject: "key:x", Chain: []string{"corp:bot"}}, []string{"corp:bot", "bot's owner"}},
		"who is known as that":   {Principal{Subject: "key:a", Person: "Alice", PersonSeen: true}, nil},
		"nobody of auth.people":  {Principal{Subject: "key:b", Person: "bob"}, nil},
		"a name, and no subject": {Principal{Subject: "alice"}, nil},
	} {
		if got := of.Also(tc.p); !slices.Equal(got.Chain, tc.want) {
			t.Errorf("%s: Also() has the chain %q, want %q", name, got.Chain, tc.want)
		}
	}
}
