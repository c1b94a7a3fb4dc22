package e2e_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
)

// received is a notification that a webhook has got.
type received struct {
	path   string
	header http.Header
	body   []byte
}

// hook is a webhook, which accepts what it gets.
type hook struct {
	*httptest.Server
	got chan received
}

func newHook(t *testing.T) *hook {
	t.Helper()
	return newHookOf(t, httptest.NewServer)
}

func newHookOf(t *testing.T, serve func(http.Handler) *httptest.Server) *hook {
	t.Helper()
	h := &hook{got: make(chan received, 1000)}
	h.Server = serve(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.got <- received{r.URL.Path, r.Header, body}
}

// next returns the next notification.
func (h *hook) next(t *testing.T) received {
	t.Helper()
	select {
	case r := <-h.got:
		return r
	case <-time.After(time.Minute):
		t.Fatal("the webhook is not notified")
		return received{}
	}
}

// untilState reads notifications until one says that the task has a state, and returns all.
func (h *hook) untilState(t *testing.T, state string) (all []received) {
	t.Helper()
	for {
		r := h.next(t)
		all = append(all, r)
		if bytes.Contains(r.body, []byte(`"state":"`+state+`"`)) {
			return all
		}
	}
}

// pushing returns the configuration of a server that calls webhooks on this machine.
func pushing(t *testing.T, more map[string]string) testserver.Config {
	t.Helper()
	set := map[string]string{"push.enabled": "true", "push.allow_http": "true", "push.allow_loopback": "true"}
	maps.Copy(set, more)
	return load(t, set)
}

// sendWith sends a text with a webhook, and returns the task at its next rest.
func (in *instance) sendWith(t *testing.T, id, text string, webhook map[string]any) taskAnswer {
	t.Helper()
	var result struct{ Task taskAnswer }
	in.rpc(t, "SendMessage", withWebhook(id, text, webhook), &result)
	return result.Task
}

// A webhook is notified of everything, in order, with what its client has set.
func TestPush(t *testing.T) {
	t.Parallel()
	in := start(t, pushing(t, nil))
	h := newHook(t)
	task := in.sendWith(t, "m1", "/transfer_money amount=5 to=bob", map[string]any{
		"id": "a", "url": h.URL + "/a", "token": "the token", "authentication": map[string]any{"scheme": "Bearer", "credentials": "the credentials"},
	})
	all := h.untilState(t, "TASK_STATE_INPUT_REQUIRED")
	in.approve(t, "m2", task.ID, task.ID+".a1")
	all = append(all, h.untilState(t, "TASK_STATE_COMPLETED")...)
	seen := map[string]bool{}
	for _, r := range all {
		for name, want := range map[string]string{
			"Content-Type": "application/a2a+json", "Authorization": "Bearer the credentials",
			"A2a-Notification-Token": "the token", "X-A2a-Notification-Token": "the token",
		} {
			if got := r.header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		var event map[string]json.RawMessage
		if err := json.Unmarshal(r.body, &event); err != nil || len(event) != 1 || r.path != "/a" || !bytes.Contains(r.body, []byte(task.ID)) {
			t.Errorf("%s gets %s: %v", r.path, r.body, err)
		}
		for kind := range event {
			seen[kind] = true
		}
	}
	if !seen["statusUpdate"] || !seen["artifactUpdate"] {
		t.Errorf("the webhook has got %v, want updates of the status and of artifacts", seen)
	}
}

// No secret of a webhook is in the file of tasks, in the log, or in an answer, except its URL
// in answers to its owner, and it is there again after a restart.
func TestPushSecrets(t *testing.T) {
	t.Parallel()
	c := pushing(t, nil)
	in := startHooked(t, c, nil)
	h := newHook(t)
	task := in.sendWith(t, "m1", "/transfer_money amount=5 to=bob", map[string]any{
		"id": "a", "url": h.URL + "/services/_42_42_?sig=_42_42_", "token": "secret-token-_47_11_", "authentication": map[string]any{"scheme": "Bearer", "credentials": "secret-credentials-_47_11_"},
	})
	h.untilState(t, "TASK_STATE_INPUT_REQUIRED")
	path := "/tasks/" + task.ID + "/pushNotificationConfigs"
	for _, path := range []string{path, path + "/a", "/tasks/" + task.ID} {
		if status, text := in.get(t, path); status != http.StatusOK || strings.Contains(text, "_47_11_") ||
			strings.Contains(path, "Configs") && !strings.Contains(text, h.URL+"/services/_42_42_?sig=_42_42_") {
			t.Errorf("GET %s = %d %s, want the whole URL and no other secret", path, status, text)
		}
	}
	in.halt(t)
	for _, line := range in.log.all() {
		if text := fmt.Sprint(line); strings.Contains(text, "_47_11_") || strings.Contains(text, "_42_42_") {
			t.Errorf("the log has %s", text)
		}
	}
	files, err := filepath.Glob(filepath.Join(c.Set["data"], "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && (bytes.Contains(text, []byte("_47_11_")) || bytes.Contains(text, []byte("_42_42_"))) {
			t.Errorf("%s has a secret", name)
		}
	}
	in = start(t, c)
	in.approve(t, "m2", task.ID, task.ID+".a1")
	for _, r := range h.untilState(t, "TASK_STATE_COMPLETED") {
		if got := r.header.Get("Authorization") + r.header.Get("A2A-Notification-Token"); got != "Bearer secret-credentials-_47_11_secret-token-_47_11_" {
			t.Errorf("after a restart the webhook gets %q", got)
		}
	}
}

// Without the key that sealed them, nothing is sent, and the rest of the server works: the
// webhook is listed with what of its URL is not sealed, deleted and set again.
func TestPushWithoutItsKey(t *testing.T) {
	t.Parallel()
	c := pushing(t, nil)
	in := startHooked(t, c, nil)
	h := newHook(t)
	task := in.sendWith(t, "m1", "/transfer_money amount=5 to=bob", map[string]any{"id": "a", "url": h.URL + "/a", "token": "x"})
	h.untilState(t, "TASK_STATE_INPUT_REQUIRED")
	in.halt(t)
	if err := os.Remove(filepath.Join(c.Set["data"], "keys", "push-secrets.json")); err != nil {
		t.Fatal(err)
	}
	in = start(t, c)
	path := "/tasks/" + task.ID + "/pushNotificationConfigs"
	for _, path := range []string{path, path + "/a"} {
		if status, text := in.get(t, path); status != http.StatusOK || !strings.Contains(text, h.URL) || strings.Contains(text, h.URL+"/") {
			t.Errorf("GET %s = %d %s, want scheme and host of the URL", path, status, text)
		}
	}
	in.approve(t, "m2", task.ID, task.ID+".a1")
	if status, text := in.do(t, http.MethodPost, path, `{"id":"a","url":"`+h.URL+`/b","token":"y"}`); status != http.StatusOK {
		t.Fatalf("it is set again: %d %s", status, text)
	}
	for _, r := range h.untilState(t, "TASK_STATE_COMPLETED") {
		if r.path != "/b" || r.header.Get("A2A-Notification-Token") != "y" {
			t.Errorf("%s gets %v", r.path, r.header)
		}
	}
	if status, _ := in.do(t, http.MethodDelete, path+"/a", ""); status != http.StatusOK {
		t.Errorf("DELETE = %d", status)
	}
}

// A webhook of A2A 0.3 gets tasks as that version has them.
func TestPushOfTheOldVersion(t *testing.T) {
	t.Parallel()
	in := start(t, pushing(t, nil))
	h := newHook(t)
	params := map[string]any{
		"message":       map[string]any{"kind": "message", "messageId": "m1", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "/echo text=hello"}}},
		"configuration": map[string]any{"pushNotificationConfig": map[string]any{"url": h.URL, "token": "t"}},
	}
	status, text := in.do(t, http.MethodPost, "/", request(t, "message/send", params))
	if status != http.StatusOK || strings.Contains(text, `"error"`) {
		t.Fatalf("message/send = %d %s", status, text)
	}
	for _, r := range h.untilState(t, "completed") {
		var task struct {
			Kind, ID string
			Status   struct{ State string }
		}
		if err := json.Unmarshal(r.body, &task); err != nil || task.Kind != "task" || task.ID == "" || r.header.Get("Content-Type") != "application/json" || r.header.Get("X-A2A-Notification-Token") != "t" {
			t.Errorf("the webhook gets %s with %v: %v", r.body, r.header, err)
		}
	}
}

// A webhook without authentication of its own gets a token that it can verify, and that is
// only for it, this notification and the next five minutes.
func TestPushTokens(t *testing.T) {
	t.Parallel()
	const base = "https://agent.example/a2a"
	c := pushing(t, map[string]string{"push.jwt": "true", "public_url": base, "allowed_hosts": "127.0.0.1", "insecure_no_auth": "true"})
	in := start(t, c)
	keys := func() (set jose.JSONWebKeySet) {
		t.Helper()
		a := in.fetch(t, http.MethodGet, "/a2a/.well-known/jwks.json", "")
		if err := json.Unmarshal([]byte(a.Body), &set); err != nil || a.Status != http.StatusOK || a.Header.Get("Cache-Control") != "public, max-age=300" || a.Header.Get("ETag") == "" {
			t.Fatalf("the keys: %+v, %v", a, err)
		}
		if strings.Contains(a.Body, `"d"`) {
			t.Error("the keys are private")
		}
		return set
	}
	h := newHook(t)
	seen := map[string]bool{}
	check := func(r received, task, url string) (kid string) {
		t.Helper()
		text, ok := strings.CutPrefix(r.header.Get("Authorization"), "Bearer ")
		jws, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
		if !ok || err != nil {
			t.Fatalf("Authorization is %q: %v", r.header.Get("Authorization"), err)
		}
		kid = jws.Signatures[0].Protected.KeyID
		set := keys()
		payload, err := jws.Verify(set.Key(kid)[0])
		if err != nil {
			t.Fatal(err)
		}
		var claims struct {
			Iss, Aud, Jti, TaskID string
			Iat, Exp              int64
			Body                  string `json:"request_body_sha256"`
		}
		if err := json.Unmarshal(payload, &claims); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(r.body)
		if now := time.Now().Unix(); claims.Iss != base || claims.Aud != url || claims.TaskID != task || claims.Body != hex.EncodeToString(sum[:]) ||
			claims.Jti == "" || seen[claims.Jti] || claims.Iat > now || claims.Iat < now-60 || claims.Exp != claims.Iat+300 || jws.Signatures[0].Protected.ExtraHeaders["typ"] != "JWT" {
			t.Errorf("the token has %s", payload)
		}
		seen[claims.Jti] = true
		return kid
	}
	task := in.sendWith(t, "m1", "/transfer_money amount=5 to=bob", map[string]any{"id": "a", "url": h.URL + "/a?b=c", "token": "t"})
	old := ""
	for _, r := range h.untilState(t, "TASK_STATE_INPUT_REQUIRED") {
		old = check(r, task.ID, h.URL+"/a?b=c")
	}
	if _, err := rotate(c, "push-tokens"); err != nil {
		t.Fatal(err)
	}
	in.reload(t)
	in.approve(t, "m2", task.ID, task.ID+".a1")
	for _, r := range h.untilState(t, "TASK_STATE_COMPLETED") {
		if young := check(r, task.ID, h.URL+"/a?b=c"); young == old {
			t.Error("the old key signs after it was replaced")
		}
	}
	if set := keys(); len(set.Keys) != 2 || len(set.Key(old)) != 1 {
		t.Errorf("there are %d keys, want the new one and the old one", len(set.Keys))
	}
	// One with authentication of its own gets only that.
	in.sendWith(t, "m3", "/echo text=x", map[string]any{"url": h.URL, "authentication": map[string]any{"scheme": "Basic", "credentials": "eA=="}})
	for _, r := range h.untilState(t, "TASK_STATE_COMPLETED") {
		if got := r.header.Values("Authorization"); len(got) != 1 || got[0] != "Basic eA==" {
			t.Errorf("Authorization is %q", got)
		}
	}
	// Bearer without credentials asks for the token.
	task = in.sendWith(t, "m4", "/echo text=x", map[string]any{"url": h.URL, "authentication": map[string]any{"scheme": "bearer"}})
	for _, r := range h.untilState(t, "TASK_STATE_COMPLETED") {
		check(r, task.ID, h.URL)
	}
}

func TestPushWithOwnAuthorities(t *testing.T) {
	t.Parallel()
	h := newHookOf(t, httptest.NewTLSServer)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	in := start(t, load(t, map[string]string{"push.enabled": "true", "push.allow_loopback": "true", "push.ca": file}))
	in.sendWith(t, "m1", "/echo text=x", map[string]any{"url": h.URL})
	h.untilState(t, "TASK_STATE_COMPLETED")
	for _, wrong := range []string{filepath.Join(t.TempDir(), "none.pem"), t.TempDir(), os.Args[0] + "x"} {
		c := load(t, map[string]string{"push.enabled": "true", "push.ca": wrong})
		for _, err := range []error{testserver.Check(c), func() error { _, err := testserver.New(c); return err }()} {
			if err == nil || !strings.Contains(err.Error(), "push.ca: ") {
				t.Errorf("with %s: %v", wrong, err)
			}
		}
	}
}

// hostile is a webhook that does to its caller whatever it can.
func hostile(t *testing.T) *httptest.Server {
	t.Helper()
	release := make(chan struct{})
	mux := http.NewServeMux()
	piece := bytes.Repeat([]byte("x"), 1<<20)
	fill := func(w io.Writer) {
		for range 100 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/reached", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/reached", func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fill(w)
	})
	for path, code := range map[string]int{"/announced": http.StatusInternalServerError, "/page": http.StatusOK} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "104857600")
			w.Header().Set("Retry-After", "1000")
			w.WriteHeader(code)
			fill(w)
		})
	}
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusInternalServerError)
		fill(gzip.NewWriter(w))
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Large", strings.Repeat("x", 1<<20)) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	return s
}

// withPush returns the configuration of a server with webhooks on this machine and this
// process's user on its socket.
func withPush(t *testing.T, roles string) testserver.Config {
	t.Helper()
	c := withSocket(t, me(roles))
	c.Set["push.enabled"], c.Set["push.allow_http"], c.Set["push.allow_loopback"] = "true", "true", "true"
	return c
}

// setAs sends a text of somebody with a webhook.
func (in *instance) setAs(t *testing.T, whose, id, webhook, text string) (taskID string) {
	t.Helper()
	task, said := in.sendAs(t, withWebhook(id, text, map[string]any{"id": id, "url": webhook}), "X-Who", whose)
	if task.ID == "" {
		t.Fatalf("SendMessage = %s", said)
	}
	return task.ID
}

// Webhooks that misbehave delay no other, and the operator sees what they do.
func TestHostileWebhooks(t *testing.T) {
	t.Parallel()
	c := withPush(t, auth.RoleOperator)
	c.Set["push.timeout"] = "5s"
	in := start(t, c)
	bad, h := hostile(t), newHook(t)
	want := map[string]string{
		"redirect": "redirect", "hang": "timeout", "huge": "HTTP 500", "announced": "HTTP 500", "bomb": "HTTP 500", "gone": "HTTP 410", "header": "request failed",
	}
	var sending sync.WaitGroup
	for id := range want {
		sending.Go(func() { in.setAs(t, "acme/alice", id, bad.URL+"/"+id, "/echo text=x") })
	}
	sending.Wait()
	in.setAs(t, "acme/alice", "good", h.URL, "/echo text=x")
	h.untilState(t, "TASK_STATE_COMPLETED")
	in.setAs(t, "acme/alice", "page", bad.URL+"/page", "/echo text=x")
	until(t, "each webhook has failed", func() bool {
		page, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, w := range page.Items {
			if w.Error != "" {
				got[w.ID] = w.Error
			}
			// Who accepts has accepted, and who asks for time gets it, whatever else is in the answer.
			if w.ID == "page" && w.Tries > 0 || w.ID == "announced" && w.Tries > 0 && time.Until(w.Next) < 10*time.Minute {
				t.Errorf("%+v", w)
			}
			if w.Host != "127.0.0.1" || w.Owner != "test:alice" {
				t.Errorf("%+v", w)
			}
			if state := map[bool]string{true: "dead", false: "retrying"}[w.ID == "gone"]; w.Error != "" && w.State != state {
				t.Errorf("%s is %s, want %s", w.ID, w.State, state)
			}
		}
		return maps.Equal(got, want) && !slices.ContainsFunc(page.Items, func(w client.Webhook) bool { return w.ID == "page" && !w.Next.IsZero() })
	})
	page, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{State: "dead"})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "gone" {
		t.Errorf("the dead ones are %+v, %v", page, err)
	}
}

// What a name means is decided at each call: a webhook that was allowed is not called when its
// address no longer is, and where it leads is not known to its client.
func TestPushToAddressesThatAreForbidden(t *testing.T) {
	t.Parallel()
	c := withPush(t, auth.RoleOperator)
	in := startHooked(t, c, nil)
	h := newHook(t)
	for _, url := range []string{
		in.url, strings.Replace(in.url, "127.0.0.1", "localhost", 1), strings.Replace(in.url, "127.0.0.1", "[::ffff:127.0.0.1]", 1), strings.Replace(in.url, "127.0.0.1", "0.0.0.0", 1),
		"http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://168.63.129.16/", "http://[fd00:ec2::254]/", "http://[64:ff9b::10.0.0.1]/", "http://0.0.0.0/", "http://192.0.0.192/",
	} {
		status, text := in.do(t, http.MethodPost, "/tasks/019b7c00-0000-7000-8000-000000000001/pushNotificationConfigs", `{"url":"`+url+`"}`, "X-Who", "acme/alice")
		if status != http.StatusBadRequest || !strings.Contains(text, "leads to an address or port that this server does not call") || strings.Contains(text, "listens") {
			t.Errorf("a webhook %s: %d %s", url, status, text)
		}
	}
	task := in.setAs(t, "acme/alice", "a", h.URL, "/transfer_money amount=5 to=bob")
	h.untilState(t, "TASK_STATE_INPUT_REQUIRED")
	in.halt(t)
	c.Set["push.allow_loopback"] = "false"
	in = start(t, c)
	in.sendAs(t, approve("m2", task, task+".a1"), "X-Who", "acme/alice")
	until(t, "the webhook has been refused", func() bool {
		page, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{})
		return err == nil && len(page.Items) == 1 && page.Items[0].Error == "address refused"
	})
	select {
	case r := <-h.got:
		t.Errorf("the webhook has got %s", r.body)
	default:
	}
}

// Who oversees a tenant sees its webhooks, page by page, and no others, not even in a cursor.
func TestPushListOfATenant(t *testing.T) {
	t.Parallel()
	c := withPush(t, auth.RoleOperator+", "+auth.RoleAdmin)
	in := start(t, c)
	h := newHook(t)
	want := map[string]bool{}
	for i := range 6 {
		id := fmt.Sprint("w", i)
		want[id] = true
		in.setAs(t, "acme/alice", id, h.URL+"/acme", "/echo text=x")
		in.setAs(t, "initech/bob", "x"+id, h.URL+"/initech", "/echo text=x")
	}
	got, q := map[string]bool{}, client.WebhookQuery{Limit: 2}
	for {
		page, err := socketOf(c).Webhooks(t.Context(), q)
		if err != nil || len(page.Items) > 2 {
			t.Fatalf("Webhooks() = %+v, %v", page, err)
		}
		for _, w := range page.Items {
			if got[w.ID] || w.Owner != "test:alice" {
				t.Errorf("%+v", w)
			}
			got[w.ID] = true
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	if !maps.Equal(got, want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
	first, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []client.WebhookQuery{{Cursor: "forged"}, {Cursor: "AA" + first.Next[2:]}, {Cursor: first.Next[:8]}, {Cursor: first.Next, State: "dead"}, {Cursor: first.Next, Anonymous: true}, {State: "sleeping"}} {
		if _, err := socketOf(c).Webhooks(t.Context(), q); reason(t, err) != client.ReasonInvalid {
			t.Errorf("Webhooks(%+v) = %v", q, err)
		}
	}
	if page, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{Anonymous: true, Limit: 1}); err != nil || len(page.Items) != 0 || page.Next != "" {
		t.Errorf("of anonymous: %+v, %v", page, err)
	}
}

// While push notifications are switched off, webhooks are listed and deleted as usual: those
// that are left get what they have missed when it is on again, and nobody else anything.
func TestPushSwitchedOff(t *testing.T) {
	t.Parallel()
	c := withPush(t, auth.RoleOperator)
	in := startHooked(t, c, nil)
	h := newHook(t)
	tasks := map[string]string{}
	for _, id := range []string{"kept", "deleted"} {
		tasks[id] = in.setAs(t, "acme/alice", id, h.URL+"/"+id, "/transfer_money amount=5 to=bob")
		h.untilState(t, "TASK_STATE_INPUT_REQUIRED")
	}
	allSent := func(webhooks int) {
		t.Helper()
		until(t, "everything is sent, and that is kept", func() bool {
			page, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{})
			return err == nil && len(page.Items) == webhooks && !slices.ContainsFunc(page.Items, func(w client.Webhook) bool { return !w.Next.IsZero() || w.Lag > 0 })
		})
	}
	allSent(2)
	in.halt(t)
	off := c
	off.Set = maps.Clone(c.Set)
	maps.DeleteFunc(off.Set, func(key, _ string) bool { return strings.HasPrefix(key, "push.") })
	in = startHooked(t, off, nil)
	for id, task := range tasks {
		if done, said := in.sendAs(t, approve("off "+id, task, task+".a1"), "X-Who", "acme/alice"); done.Status.State != "TASK_STATE_COMPLETED" {
			t.Fatalf("SendMessage = %s", said)
		}
		if status, text := in.do(t, http.MethodGet, "/tasks/"+task+"/pushNotificationConfigs", "", "X-Who", "acme/alice"); !strings.Contains(text, "PUSH_NOTIFICATION_NOT_SUPPORTED") {
			t.Errorf("its webhooks are listed: %d %s", status, text)
		}
	}
	page, err := socketOf(c).Webhooks(t.Context(), client.WebhookQuery{})
	if err != nil || !page.Off || len(page.Items) != 2 {
		t.Errorf("Webhooks() = %+v, %v", page, err)
	}
	if was, err := socketOf(c).DeleteWebhook(t.Context(), tasks["deleted"], "deleted", 0); err != nil || !was {
		t.Errorf("DeleteWebhook() = %v, %v", was, err)
	}
	select {
	case r := <-h.got:
		t.Errorf("while it is off, %s gets %s", r.path, r.body)
	default:
	}
	in.halt(t)
	start(t, c)
	missed := h.untilState(t, "TASK_STATE_COMPLETED")
	allSent(1)
	artifacts := 0
	for _, r := range missed {
		if r.path != "/kept" || bytes.Contains(r.body, []byte("TASK_STATE_INPUT_REQUIRED")) {
			t.Errorf("%s gets %s", r.path, r.body)
		}
		artifacts += bytes.Count(r.body, []byte(`"artifactUpdate"`))
	}
	if artifacts != 1 || len(missed) < 3 || len(h.got) > 0 {
		t.Errorf("%d notifications have been missed, with %d artifacts, and %d more", len(missed), artifacts, len(h.got))
	}
}

// An operator deletes a webhook as it was listed, whoever has set it, and the audit and the
// log say who did.
func TestPushDelete(t *testing.T) {
	t.Parallel()
	c := withPush(t, auth.RoleOperator+", "+auth.RoleAdmin)
	in := start(t, c)
	h := newHook(t)
	const odd = `a"b?c&d%2F..` // what no path has
	mine, other := in.setAs(t, "acme/alice", odd, h.URL, "/echo text=x"), in.setAs(t, "initech/bob", "x", h.URL, "/echo text=x")
	in.setAs(t, "acme/bob", "y", h.URL, "/echo text=x")
	admin, ctx := socketOf(c), t.Context()
	list := func(q client.WebhookQuery) []client.Webhook {
		t.Helper()
		page, err := admin.Webhooks(ctx, q)
		if err != nil {
			t.Fatalf("Webhooks(%+v) = %v", q, err)
		}
		return page.Items
	}
	for _, q := range []client.WebhookQuery{{Principal: "test:alice"}, {Task: mine}} {
		if all := list(q); len(all) != 1 || all[0].ID != odd || all[0].SetBy == nil || all[0].SetBy.Subject != "test:alice" || all[0].Set.IsZero() {
			t.Errorf("Webhooks(%+v) = %+v", q, all)
		}
	}
	for _, q := range []client.WebhookQuery{{Task: other}, {Task: "x"}, {Task: "0194f0c0-0000-7000-8000-000000000000"}} {
		if _, err := admin.Webhooks(ctx, q); reason(t, err) != client.ReasonNotFound {
			t.Errorf("Webhooks(%+v) = %v", q, err)
		}
	}
	if all := list(client.WebhookQuery{Principal: "test:carol"}); len(all) != 0 {
		t.Errorf("of carol: %+v", all)
	}
	first := list(client.WebhookQuery{Task: mine})[0]
	if status, text := in.do(t, http.MethodPost, "/tasks/"+mine+"/pushNotificationConfigs", `{"id":"a\"b?c&d%2F..","url":"`+h.URL+`/new"}`, "X-Who", "acme/alice"); status != http.StatusOK {
		t.Fatalf("it is set again: %d %s", status, text)
	}
	for _, n := range []uint64{first.Number, 7, first.Number + 1, 0} {
		was, err := admin.DeleteWebhook(ctx, mine, odd, n)
		if want := n == first.Number+1; err != nil || was != want {
			t.Errorf("DeleteWebhook(%d) = %v, %v; want %v", n, was, err, want)
		}
	}
	if was, err := admin.DeleteWebhook(ctx, other, "x", 0); was || reason(t, err) != client.ReasonNotFound {
		t.Errorf("of another tenant: %v, %v", was, err)
	}
	if said := in.log.find("webhook deleted"); len(said) != 1 || said[0]["by"] != "socket:ann" || said[0]["task_id"] != mine || said[0]["webhook"] != odd {
		t.Errorf("the log says %v", said)
	}
	if all := list(client.WebhookQuery{}); len(all) != 1 || all[0].ID != "y" {
		t.Errorf("then there are %+v", all)
	}
}

// The start warns of webhooks that may go anywhere, once.
func TestPushAnywhere(t *testing.T) {
	t.Parallel()
	for networks, want := range map[string]int{"0.0.0.0/0,::/0": 1, "10.0.0.0/8": 0} {
		in := start(t, pushing(t, map[string]string{"push.networks": networks}))
		if said := in.log.saying("webhooks may reach"); len(said) != want || want > 0 && said[0]["level"] != "warn" {
			t.Errorf("with %s, the log has the warnings %v, want %d", networks, said, want)
		}
	}
}

// The webhooks of one caller that hang leave workers to those of others.
func TestPushIsShared(t *testing.T) {
	t.Parallel()
	c := withPush(t, auth.RoleOperator)
	c.Set["push.timeout"] = "30s"
	in := start(t, c)
	var hanging atomic.Int64
	release := make(chan struct{})
	for n := range 24 {
		on, err := net.Listen("tcp", fmt.Sprintf("127.0.1.%d:0", n+1))
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			hanging.Add(1)
			<-release
		}))
		_ = s.Listener.Close() // that of another address
		s.Listener = on
		s.Start()
		t.Cleanup(s.Close)
		in.setAs(t, "acme/alice", fmt.Sprint("w", n), s.URL, "/echo text=x")
	}
	t.Cleanup(func() { close(release) })
	until(t, "the webhooks of alice hang", func() bool { return hanging.Load() >= 16 })
	h := newHook(t)
	for n := range 3 {
		in.setAs(t, "acme/bob", fmt.Sprint("b", n), h.URL, "/echo text=x")
		h.untilState(t, "TASK_STATE_COMPLETED")
	}
	if n := hanging.Load(); n != 16 {
		t.Errorf("%d webhooks of one caller are called at once, want 16", n)
	}
}
