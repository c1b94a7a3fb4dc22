package auth

import "testing"

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
