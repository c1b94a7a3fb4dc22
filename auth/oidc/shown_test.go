package oidc_test

import (
	"maps"
	"testing"

	"a2a-server/auth"
	"a2a-server/auth/oidc"
)

// A token is a person's only if it shows one: whatever a provider leaves out makes it a service's. The
// tokens are as Keycloak 26 and Dex write them, and as the documents of Entra ID and Google show them.
func TestDoubtIsAService(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	email := func(c *oidc.Config) { c.Person = "email" }
	const alice, account = "9f1c8a3e-6d0b-4a53-8f0e-2b1a7f7f3f10", "0b9d1f66-64a3-4e0c-b1a7-5b3d2c9a1e77"
	keycloak := members{"typ": "Bearer", "azp": "agents", "acr": "1", "scope": "profile email"}
	entra := members{"aio": "AXQAi/8IAAAA", "azp": "6e74172b-be56-4843-9ff4-e66a39bb12e3", "azpacr": "0", "rh": "I", "tid": "72f988bf-86f1-41af-91ab-2d7cd011db47", "uti": "fqiBqXLPj0eQa82S-IYFAA", "ver": "2.0"}
	person := members{"name": "Abe Lincoln", "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474", "preferred_username": "abeli@microsoft.com", "scp": "access_as_user", "sub": "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ"}
	app := members{"azpacr": "1", "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474", "sub": "690222be-ff1a-4d56-abd1-7e4f7d38e474", "roles": []string{"sre"}}
	for name, tc := range map[string]struct {
		config func(*oidc.Config)
		claims []members
		person bool
	}{
		"Keycloak: a person":                              {nil, []members{keycloak, {"sub": alice, "sid": "1b7f", "preferred_username": "alice"}}, true},
		"Keycloak: a person, lightweight":                 {nil, []members{keycloak, {"sub": alice, "sid": "1b7f"}}, true},
		"Keycloak: a service account":                     {nil, []members{keycloak, {"sub": account, "client_id": "agents", "clientHost": "10.0.0.7", "clientAddress": "10.0.0.7", "preferred_username": "service-account-agents"}}, false},
		"Keycloak: a service account without profile":     {nil, []members{keycloak, {"sub": account, "client_id": "agents", "clientHost": "10.0.0.7"}}, false},
		"Keycloak: a service account, lightweight":        {nil, []members{keycloak, {"sub": account}}, false},
		"Keycloak: a service account, as RFC 9068 has it": {nil, []members{keycloak, {"sub": account, "client_id": "agents"}}, false},
		"Keycloak: a service account with refresh tokens": {nil, []members{keycloak, {"sub": account, "clientAddress": "10.0.0.7", "sid": "1b7f"}}, false},
		"Keycloak: a service account whose person is sub": {func(c *oidc.Config) { c.Person = "sub" }, []members{keycloak, {"sub": account}}, false},
		"Keycloak: a service account whose person is azp": {func(c *oidc.Config) { c.Person = "azp" }, []members{keycloak, {"sub": account}}, false},
		"Dex: a person": {email, []members{{"sub": "CgNib2ISBWxvY2Fs", "email": "bob@example.com", "email_verified": true, "name": "bob"}}, true},
		"Dex: a person of whom the server knows no claim": {nil, []members{{"sub": "CgNib2ISBWxvY2Fs", "email": "bob@example.com", "email_verified": true, "name": "bob"}}, false},
		"Entra: a person":                                 {func(c *oidc.Config) { c.Person = "oid" }, []members{entra, person}, true},
		"Entra: a person with the optional claim":         {nil, []members{entra, person, {"auth_time": 1537231000}}, true},
		"Entra: a person, version 1":                      {nil, []members{entra, person, {"ver": "1.0", "amr": []string{"pwd"}}}, true},
		"Entra: a person whom no claim shows":             {nil, []members{entra, person}, false},
		"Entra: an application":                           {func(c *oidc.Config) { c.Person = "oid" }, []members{entra, app}, false},
		"Entra: an application, by its subject alone":     {nil, []members{entra, app, {"tid": nil}}, false},
		"Google: a person":                                {email, []members{{"azp": "32555940559.apps.googleusercontent.com", "sub": "110169484474386276334", "email": "alice@example.com", "email_verified": true}}, true},
		"Google: a service account":                       {email, []members{{"azp": "112010400000000710080", "sub": "112010400000000710080", "email": "ci@project.iam.gserviceaccount.com", "email_verified": true}}, false},
		"Google: a service account that another acts for": {email, []members{{"azp": "32555940559", "sub": "112010400000000710080", "email": "ci@project.iam.gserviceaccount.com", "email_verified": true}}, false},
		"marks that are empty, or of another type":        {nil, []members{{"sid": " ", "auth_time": "now", "amr": []string{}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := p.config(&clock{})
			if tc.config != nil {
				tc.config(&config)
			}
			claims := p.claims(members{"client_id": nil, "sid": nil})
			for _, c := range tc.claims {
				maps.Copy(claims, c)
			}
			change(claims, nil)
			got, err := authenticate(t, newAuthenticator(t, config), key.sign(header(key), claims))
			if err != nil {
				t.Fatal(err)
			}
			if (got.Kind == auth.KindPerson) != tc.person {
				t.Errorf("%s is of kind %q, want a person: %v", got.Subject, got.Kind, tc.person)
			}
		})
	}
}
