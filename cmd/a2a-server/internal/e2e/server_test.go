package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/internal/testserver"

	"github.com/google/go-cmp/cmp"

	a2aserver "a2a-server"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, nil))
	for _, path := range []string{"/livez", "/readyz"} {
		a := in.fetch(t, http.MethodGet, path, "")
		if a.Status != http.StatusOK || a.Body != "ok\n" {
			t.Errorf("GET %s = %d %q", path, a.Status, a.Body)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
		if status, _ := in.do(t, http.MethodPost, path, ""); status != http.StatusMethodNotAllowed {
			t.Errorf("POST %s = %d, want 405", path, status)
		}
		for header, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
			if status, _ := in.do(t, http.MethodGet, path, "", header, value); status != http.StatusForbidden {
				t.Errorf("GET %s with %s %s = %d, want 403", path, header, value, status)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "allowed_hosts": "a.example", "public_url": "https://B.example:8443/agent", "insecure_no_auth": "true"}))
	for host, want := range map[string]int{"localhost": 200, "LOCALHOST:1": 200, "[::1]:80": 200, "a.example": 200, "b.example": 200, "c.example": 403, "": 200} {
		if status, _ := in.do(t, http.MethodGet, "/.well-known/agent-card.json", "", "Host", host); status != want {
			t.Errorf("Host %q = %d, want %d", host, status, want)
		}
	}
}

func TestCard(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "agent.name": "treasurer"}))
	_, body := in.get(t, "/.well-known/agent-card.json")
	var card struct {
		Name                string
		SupportedInterfaces []struct{ URL string }
		Skills              []struct {
			ID   string
			Tags []string
		}
	}
	if err := json.Unmarshal([]byte(body), &card); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if card.Name != "treasurer" || len(card.SupportedInterfaces) == 0 || card.SupportedInterfaces[0].URL != in.url {
		t.Errorf("the card is %s", body)
	}
	tags := map[string][]string{}
	for _, s := range card.Skills {
		tags[s.ID] = s.Tags
	}
	want := map[string][]string{
		"echo":           {"tool", "read-only", "idempotent"},
		"stream":         {"tool", "streaming", "read-only"},
		"transfer_money": {"tool", "destructive", "needs approval"},
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
}

// What a person has to do continues after a restart, on the same file.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := load(t, nil)
	first := start(t, c)
	said := first.send(t, "m1", "/echo hello")
	asked := first.send(t, "m2", "/transfer_money amount=5 to=bob")
	if said.Status.State != "TASK_STATE_COMPLETED" || asked.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("states %s and %s", said.Status.State, asked.Status.State)
	}
	first.halt(t)
	ledger := filepath.Join(c.Set["data"], "ledger.jsonl")
	if _, err := os.Stat(ledger); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(ledger) = %v before anybody approved, want %v", err, fs.ErrNotExist)
	}

	second := start(t, c)
	var again taskAnswer
	second.rpc(t, "GetTask", map[string]any{"id": said.ID}, &again)
	if diff := cmp.Diff(said, again); diff != "" {
		t.Errorf("task after a restart (-before +now):\n%s", diff)
	}
	if same := second.send(t, "m1", "/echo hello"); same.ID != said.ID {
		t.Errorf("the same message again made task %s, want %s", same.ID, said.ID)
	}
	if done := second.approve(t, "m3", asked.ID, asked.ID+".a1"); done.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("approved after a restart: %s", done.Status.State)
	}
	text, err := os.ReadFile(ledger)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("the ledger is %q, %v, want one line", text, err)
	}
	for path, want := range map[string]fs.FileMode{ledger: 0o600, filepath.Join(c.Set["data"], "tasks.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %v", path, info, err, want)
		}
	}
}

func TestDataFolderIsPrivate(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "a", "b")
	start(t, load(t, map[string]string{"data": data, "store": "memory"}))
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("Stat() = %v, %v, want mode 0700", info, err)
	}
}

// A folder or a configuration that others may write is refused: they could change what was
// approved, or who may approve it.
func TestWritableForOthers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "a2a-server.yaml")
	rewrite(t, file, "store: memory\n")
	shared := func(path string, mode fs.FileMode, gid int) {
		t.Helper()
		if err := errors.Join(os.Chown(path, -1, gid), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	const foreign = 4711
	for _, c := range []struct {
		path    string
		mode    fs.FileMode
		gid     int
		refused bool
	}{
		{data, 0o777, -1, true},
		{data, 0o1777, -1, true},
		{data, 0o770, os.Getegid(), false},
		{data, 0o770, foreign, true},
		{data, 0o750, foreign, false},
		{file, 0o602, -1, true},
		{file, 0o660, os.Getegid(), false},
		{file, 0o660, foreign, true},
		{file, 0o644, foreign, false},
	} {
		if c.gid == foreign && os.Getuid() != 0 {
			continue // only root gives a file to a group that it is not in
		}
		shared(c.path, c.mode, c.gid)
		conf := load(t, map[string]string{"data": data})
		conf.File = file
		a, err := testserver.New(conf)
		if err == nil {
			err = a.Close()
		}
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "run chmod") {
			t.Errorf("%+v: New() = %v", c, err)
		}
		shared(c.path, 0o700, -1)
	}
}

func TestIgnoreDeclaredGates(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "declared_gates": "ignore"}))
	if got := in.send(t, "m", "/transfer_money amount=5 to=bob"); got.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("without a gate the call ended in %s, want it to have run", got.Status.State)
	}
	if said := in.log.saying("declared_gates"); len(said) == 0 || said[0]["level"] != "warn" {
		t.Error("nothing in the log warns of it")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	rewrite(t, file, "no folder")
	busy := start(t, load(t, nil))
	for name, c := range map[string]struct {
		flags map[string]string
		says  string
		is    error
	}{
		"instructions":  {map[string]string{"planner.kind": "llm", "planner.llm.url": "http://127.0.0.1:1", "planner.llm.model": "m", "planner.llm.instructions": file + "s"}, file, a2aserver.ErrConfig},
		"address taken": {map[string]string{"listen": busy.server.Addr().String()}, "choose another address", nil},
		"data is file":  {map[string]string{"data": file}, "choose another", nil},
		"store damaged": {map[string]string{"store": "bolt:" + damaged(t)}, "restore a backup", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := testserver.New(load(t, c.flags))
			if a != nil || err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, a2aserver.ErrConfig) != (c.is != nil) {
				t.Errorf("New() = %v, %v, want an error that says %q", a, err, c.says)
			}
		})
	}
}

// A public address needs to be wanted, or callers who prove who they are.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	public := map[string]string{"store": "memory", "listen": "0.0.0.0:0"}
	if _, err := testserver.New(load(t, public)); err == nil || !strings.Contains(err.Error(), "insecure_no_auth") {
		t.Errorf("New() = %v, want what to do", err)
	}
	c := load(t, public)
	c.Authenticator = auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
		return auth.Principal{}, auth.ErrNone
	})
	in := start(t, c)
	if a := in.fetch(t, http.MethodGet, "/tasks", ""); a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a credential: %+v, want 401 and the challenge Bearer", a)
	}
}

func damaged(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.db")
	rewrite(t, path, strings.Repeat("no store", 4096))
	return path
}
