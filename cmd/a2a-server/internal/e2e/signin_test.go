package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/client"
	"a2a-server/internal/oidctest"
)

// signedIn reports whether the server knows the session of its client.
func (in *instance) signedIn(t *testing.T) bool {
	t.Helper()
	in.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { in.client.CheckRedirect = nil }()
	resp := in.open(t, http.MethodGet, "/ui/signin?next=/ui/a", "")
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusSeeOther && strings.HasSuffix(resp.Header.Get("Location"), "/ui/a")
}

// A person signs in as the configuration says, stays so over a restart, and only the pages take
// their session: neither the approvals API nor A2A does.
func TestSignIn(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	key := newKey(t, keys, apikey.Key{ID: "alice", Roles: []string{auth.RoleApprover}})
	const text = `
auth:
  tenant: acme
  keys: {file: %q}
  oidc:
    - name: corp
      issuer: %q
      audiences: [a2a]
      networks: [127.0.0.1]
      roles: {claim: groups, map: {sre: [%s]}}
      client_id: pages
      client_secret: {secret: pages}
secrets: {pages: {env: TOKEN}}
`
	c, file := configured(t, fmt.Sprintf(text, keys, issuer.URL, "approver"))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func() *instance {
		in := startHooked(t, c, nil)
		in.client.Jar = jar
		issuer.Register(oidctest.Client{ID: "pages", Secret: "S3-cret", RedirectURI: in.url + "/ui/signin/callback"})
		return in
	}
	stop := func(in *instance) {
		in.halt(t)
	}
	atIssuer := func(in *instance) {
		in.get(t, "/ui/signin/start?issuer=corp&next=/ui/a")
		if !in.signedIn(t) {
			t.Fatal("not signed in at the issuer")
		}
	}
	in := run()
	if in.signedIn(t) {
		t.Fatal("signed in without a session")
	}
	atIssuer(in)
	for _, r := range [][2]string{{http.MethodGet, "/api/v1/whoami"}, {http.MethodGet, "/tasks"}} {
		if status, body := in.do(t, r[0], r[1], ""); status != http.StatusUnauthorized {
			t.Errorf("%s %s with a session: %d %s", r[0], r[1], status, body)
		}
	}
	if _, body := in.do(t, http.MethodPost, "/", request(t, "ListTasks", map[string]any{})); !strings.Contains(body, "UNAUTHENTICATED") && !strings.Contains(body, "send a credential") {
		t.Errorf("a message with a session: %s", body)
	}
	stop(in)

	in = run()
	if !in.signedIn(t) {
		t.Error("a restart ends a session")
	}
	stop(in)

	rewrite(t, file, fmt.Sprintf(text, keys, issuer.URL, "viewer"))
	in = run()
	if in.signedIn(t) {
		t.Error("a session outlives the roles that its issuer gave")
	}
	resp, err := in.client.PostForm(in.url+"/ui/signin", url.Values{"key": {key}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if !in.signedIn(t) {
		t.Fatal("not signed in with the key")
	}
	if err := apikey.Revoke(keys, "alice", time.Now()); err != nil {
		t.Fatal(err)
	}
	in.reload(t)
	if in.signedIn(t) {
		t.Error("a session outlives its key")
	}
	atIssuer(in)
	if resp, err = in.client.PostForm(in.url+"/ui/signout", nil); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if in.signedIn(t) {
		t.Error("a session outlives its end")
	}
	stop(in)

	c.Set["ui.enabled"] = "false"
	in = run()
	if status, body := in.get(t, "/ui/signin"); status != http.StatusNotFound {
		t.Errorf("without pages: %d %s", status, body)
	}
	stop(in)
}

// A person who signs in to the pages has been seen, under the subject that their key names.
func TestSignInIsSeen(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	carol := newKey(t, keys, apikey.Key{ID: "carol", Roles: []string{auth.RoleRequester}})
	alice := newKey(t, keys, apikey.Key{ID: "alice", Person: "corp:alice", Roles: []string{auth.RoleApprover}})
	c, _ := configured(t, fmt.Sprintf(`
auth:
  tenant: acme
  keys: {file: %q}
  oidc: [{name: corp, issuer: %q, audiences: [a2a], networks: [127.0.0.1], roles: [approver], client_id: pages, client_secret: {secret: pages}}]
secrets: {pages: {env: TOKEN}}
gates: [{tool: transfer_money, four_eyes: true}]
`, keys, issuer.URL))
	in := start(t, c)
	issuer.Register(oidctest.Client{ID: "pages", Secret: "S3-cret", RedirectURI: in.url + "/ui/signin/callback"})
	asked, said := in.sendAs(t, message("m1", "/transfer_money amount=1 to=x"), "X-API-Key", carol)
	if asked.ID == "" {
		t.Fatal(said)
	}
	path := "/api/v1/approvals/" + asked.ID + ".a1"
	_, text := in.do(t, http.MethodGet, path, "", "X-API-Key", alice)
	var d client.ApprovalDetail
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	approve := func(want int) {
		t.Helper()
		if status, said := in.do(t, http.MethodPost, path+"/decision", fmt.Sprintf(`{"decision":"approve","digest":%q}`, d.Approval.Digest), "X-API-Key", alice); status != want {
			t.Fatalf("the key: %d %s, want %d", status, said, want)
		}
	}
	approve(http.StatusForbidden)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	in.client.Jar = jar
	in.get(t, "/ui/signin/start?issuer=corp&next=/ui/a")
	approve(http.StatusOK)
}
