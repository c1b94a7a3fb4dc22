package directory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/directory"
	"a2a-server/store"
	"a2a-server/store/memstore"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a store, with a clock.
type world struct {
	store.Store
	*testing.T
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	return &world{Store: h, T: t, now: start}
}

func (w *world) open() *directory.Directory {
	return directory.New(directory.Config{Store: w.Store, Now: func() time.Time { return w.now }, Operators: []string{"api_key", "socket"}, Log: zerolog.Nop()})
}

// seen reports whether d knows the person of a key in a tenant.
func (w *world) seen(d *directory.Directory, tenant, person string) bool {
	w.Helper()
	p, err := d.Complete(w.Context(), auth.Principal{Tenant: tenant, Subject: "key:k", Person: person, Method: "api_key"})
	if err != nil {
		w.Fatal(err)
	}
	return p.PersonSeen
}

// accepted is a request of p that is authenticated, and then accepted.
func (w *world) accepted(d *directory.Directory, p auth.Principal) {
	w.Helper()
	got, err := d.Complete(w.Context(), p)
	if diff := cmp.Diff(p, got); diff != "" || err != nil {
		w.Fatalf("Complete() = %v; (-want +got):\n%s", err, diff)
	}
	d.Remember(w.Context(), p)
}

// The person of a key has been seen once a request of theirs was accepted, in the tenant of the key, under
// the name that the key has; also by another instance later.
func TestPersonOfAKey(t *testing.T) {
	t.Parallel()
	const alice = "corp:9f1c8a3e-6d0b-4a53-8f0e-2b1a7f7f3f10"
	login := auth.Principal{Tenant: "acme", Subject: alice, Roles: []string{auth.RoleApprover}, Method: "oidc"}
	named := login
	named.Person, named.PersonSeen = "Alice@example.com", true
	unproven, service, agent, key := login, login, login, login
	unproven.Person = "corp:alice"
	service.Kind, agent.Chain, key.Method = auth.KindService, []string{"corp:agent"}, "api_key"
	for name, tc := range map[string]struct {
		request        auth.Principal
		tenant, person string
		want           bool
	}{
		"the subject":                   {login, "acme", alice, true},
		"a name that is no subject":     {login, "acme", "corp:alice", false},
		"in another tenant":             {login, "other", alice, false},
		"of another source":             {login, "acme", "desk" + alice[4:], false},
		"the name of the issuer":        {named, "acme", "alice@example.com ", true},
		"a name that nothing proves":    {unproven, "acme", "corp:alice", false},
		"of a service":                  {service, "acme", alice, false},
		"for whom an agent acts":        {agent, "acme", alice, false},
		"a key with such a subject":     {key, "acme", alice, false},
		"nobody":                        {auth.Principal{Tenant: "acme", Roles: []string{auth.RoleApprover}}, "acme", "", false},
		"the caller without a name":     {auth.Anonymous(), "", "anonymous", false},
		"a proxy's, with other accents": {auth.Principal{Subject: "proxy:Zoe\u0308", Roles: []string{auth.RoleViewer}, Method: "proxy"}, "", "proxy:zo\u00eb", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if w.seen(w.open(), tc.tenant, tc.person) {
				t.Error("the person has been seen before any request")
			}
			w.accepted(w.open(), tc.request)
			if got := w.seen(w.open(), tc.tenant, tc.person); got != tc.want {
				t.Errorf("the person has been seen: %v, want %v", got, tc.want)
			}
		})
	}
}

// A key that names a login is the person whom the login's provider names, too, and nobody for certain if logins
// of two persons have that name.
func TestLoginThatAKeyNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.open()
	key := auth.Principal{Tenant: "acme", Subject: "key:k", Person: "corp:B1", Method: "api_key"}
	want := key
	for _, step := range []struct {
		subject, person string // of the login that is seen
		want            auth.Principal
	}{
		{"corp:b1", "", auth.Principal{Person: "corp:B1", PersonSeen: true}},
		{"corp:b1", "bob@example.com", auth.Principal{Person: "bob@example.com", PersonSeen: true, Login: "corp:B1"}},
		{"partner:b2", "Bob@example.com", auth.Principal{Person: "bob@example.com", PersonSeen: true, Login: "corp:B1"}},
		{"corp:B1", "carl@example.com", auth.Principal{Person: "corp:B1"}},
	} {
		d.Remember(t.Context(), auth.Principal{Tenant: "acme", Subject: step.subject, Person: step.person, PersonSeen: step.person != "", Method: "oidc"})
		want.Person, want.PersonSeen, want.Login = step.want.Person, step.want.PersonSeen, step.want.Login
		got, err := d.Complete(t.Context(), key)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("after %s was seen as %q: %v (-want +got):\n%s", step.subject, step.person, err, diff)
		}
	}
}

// A person is written once an hour, and when their roles change.
func TestPersonIsWrittenRarely(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.open()
	p := auth.Principal{Tenant: "acme", Subject: "corp:1", Roles: []string{"viewer", "a"}, Method: "oidc"}
	last := func(want time.Time, roles ...string) {
		t.Helper()
		got, ok, err := d.Last(t.Context(), "acme", "corp:1")
		if diff := cmp.Diff(directory.Entry{Roles: roles, Method: "oidc", Time: want}, got); diff != "" || !ok || err != nil {
			t.Fatalf("Last() = %v, %v (-want +got):\n%s", ok, err, diff)
		}
	}
	w.accepted(d, p)
	w.now = start.Add(59 * time.Minute)
	p.Roles = []string{"a", "viewer"}
	w.accepted(d, p)
	last(start, "a", "viewer")
	p.Roles = []string{"viewer"}
	w.accepted(d, p)
	last(w.now, "viewer")
	w.now = w.now.Add(time.Hour)
	w.accepted(d, p)
	last(w.now, "viewer")
	p.Roles = nil
	w.accepted(d, p)
	last(w.now)
	if _, ok, err := d.Last(t.Context(), "other", "corp:1"); ok || err != nil {
		t.Errorf("Last() of another tenant = %v, %v", ok, err)
	}
}

// A store that fails gives no person: a request with a key has an error, and one of a person goes on.
func TestDirectoryWithoutItsStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.open()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.accepted(d, auth.Principal{Subject: "corp:1", Method: "oidc"})
	if p, err := d.Complete(t.Context(), auth.Principal{Subject: "key:k", Person: "corp:1", Method: "api_key"}); err == nil || !p.IsZero() {
		t.Errorf("Complete() = %+v, %v, want an error", p, err)
	}
}

// full is a store that takes no write while it is full.
type full struct {
	store.Store
	is bool
}

func (f *full) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if f.is {
		return store.Answered(store.Receipt{}, store.ErrUnavailable)
	}
	return f.Store.Append(ctx, b)
}

// Roles that could not be written are written when their person comes again.
func TestRolesAreWrittenLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := &full{Store: w.Store}
	w.Store = f
	d := w.open()
	p := auth.Principal{Tenant: "acme", Subject: "corp:1", Roles: []string{auth.RoleApprover}, Method: "oidc"}
	w.accepted(d, p)
	p.Roles = []string{auth.RoleRequester}
	for _, f.is = range []bool{true, false} {
		w.now = w.now.Add(time.Minute)
		if _, err := d.Complete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if last, _, err := d.Last(t.Context(), "acme", "corp:1"); err != nil || !slices.Equal(last.Roles, p.Roles) {
		t.Errorf("Last() = %v, %v, want %v", last.Roles, err, p.Roles)
	}
}
