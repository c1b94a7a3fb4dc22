package e2e_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/client"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/testserver"
	"a2a-server/store/memstore"
	"a2a-server/task/engine"
)

// tenantAndName authenticates callers by a header: tenant/name.
var tenantAndName = auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	for _, text := range c.Header("X-Who") {
		tenant, name, _ := strings.Cut(text, "/")
		return auth.Principal{Tenant: tenant, Subject: "test:" + name, Roles: []string{auth.RoleRequester}, Method: "test"}, nil
	}
	return auth.Principal{}, auth.ErrNone
})

// withSocket returns the configuration of a server with users on its socket.
func withSocket(t *testing.T, users string) testserver.Config {
	t.Helper()
	c := load(t, nil)
	c.File = filepath.Join(t.TempDir(), "a2a-server.yaml")
	rewrite(t, c.File, "auth: {socket: ["+users+"]}\n"+doorFor(users))
	c.Authenticator = tenantAndName
	return c
}

// me is the entry of this process's user in auth.socket.
func me(roles string) string {
	return "{uid: " + strconv.Itoa(os.Getuid()) + ", subject: ann, tenant: acme, roles: [" + roles + "]}"
}

// someone is [me] for somebody.
func someone(roles string) string {
	return strings.Replace(me(roles), "uid: "+strconv.Itoa(os.Getuid()), "uid: "+strconv.Itoa(somebody), 1)
}

// short returns a name of a file that is short enough for a socket, however long its path is.
func short(t *testing.T, path string) string {
	t.Helper()
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
}

// socketPath returns the path of a server's socket.
func socketPath(c testserver.Config) string { return filepath.Join(c.Set["data"], "admin.sock") }

// socketOf returns a client of a server's socket, which does not repeat itself.
func socketOf(c testserver.Config) *client.Client {
	return clientOf(client.Config{Socket: socketPath(c)})
}

// anonymousOf is socketOf for what was created without authentication.
func anonymousOf(c testserver.Config) *client.Client {
	return clientOf(client.Config{Socket: socketPath(c), Anonymous: true})
}

func clientOf(cfg client.Config) *client.Client {
	cfg.Dial, cfg.Retries = adminsocket.Dial, -1
	c, err := client.New(cfg)
	if err != nil {
		panic(err) // it has a socket
	}
	return c
}

// askAs makes a call of somebody that has to be approved, and returns its task and approval.
func (in *instance) askAs(t *testing.T, whose string) (taskID, approvalID string) {
	t.Helper()
	task, said := in.sendAs(t, message(rand.Text(), "/transfer_money to=bob amount=5"), "X-Who", whose)
	if task.ID == "" {
		t.Fatalf("SendMessage = %s", said)
	}
	return task.ID, task.ID + ".a1"
}

// reason returns the reason of an error of the socket; "": none.
func reason(t *testing.T, err error) string {
	t.Helper()
	var e *client.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error = %v, which is not one of the server", err)
	}
	if e == nil {
		return ""
	}
	return e.Reason
}

// everything does each operation on an approval and its task, and returns the errors.
func everything(ctx context.Context, c *client.Client, taskID, approvalID string) map[string]error {
	all := map[string]error{}
	_, all["list approvals"] = c.Approvals(ctx, client.ApprovalQuery{})
	_, all["show approval"] = c.Approval(ctx, approvalID)
	_, all["decide"] = c.Decide(ctx, approvalID, client.Decision{Decision: client.Approve, Digest: "x"})
	_, all["list tasks"] = c.Tasks(ctx, client.TaskQuery{})
	_, all["show task"] = c.Task(ctx, taskID)
	all["cancel"] = c.CancelTask(ctx, taskID)
	all["delete"] = c.DeleteTask(ctx, taskID)
	_, all["list webhooks"] = c.Webhooks(ctx, client.WebhookQuery{})
	_, all["delete webhook"] = c.DeleteWebhook(ctx, taskID, "hook", 0)
	return all
}

// unixClient returns a client of the socket at a path.
func unixClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

// rawSocket sends a request to a server's socket, and returns the answer, which is always
// JSON.
func rawSocket(t *testing.T, c testserver.Config, method, path, body string, header map[string]string) (status int, text string) {
	t.Helper()
	client := unixClient(short(t, socketPath(c)))
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+cmp.Or(header["Host"], "a2a-server.admin")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		if k != "Host" {
			r.Header.Set(k, v)
		}
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a, err := answerOf(resp)
	if kind := a.Header.Get("Content-Type"); err != nil || kind != "application/json" && kind != "application/problem+json" {
		t.Errorf("%s %s: the answer is %q of type %q, %v", method, path, a.Body, kind, err)
	}
	return a.Status, a.Body
}

// untilEnded waits until a task has ended.
func untilEnded(t *testing.T, admin *client.Client, id string) {
	t.Helper()
	until(t, "the task has ended", func() bool {
		shown, err := admin.Task(t.Context(), id)
		return err == nil && !shown.May.Cancel
	})
}

// Somebody on the machine decides the approvals of the tenant, bound to what they were
// shown, and looks after its tasks.
func TestAdminSocket(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver, operator"))
	in := start(t, c)
	task1, first := in.askAs(t, "acme/alice")
	_, second := in.askAs(t, "acme/carl")
	in.askAs(t, "other/eve")
	admin, ctx := socketOf(c), t.Context()
	page, err := admin.Approvals(ctx, client.ApprovalQuery{})
	if err != nil || len(page.Items) != 2 || page.Items[0].ID != first || page.Items[1].ID != second {
		t.Fatalf("Approvals() = %+v, %v", page, err)
	}
	small, err := admin.Approvals(ctx, client.ApprovalQuery{Limit: 1})
	if err != nil || len(small.Items) != 1 || small.Next == "" {
		t.Errorf("Approvals(1) = %+v, %v", small, err)
	}
	shown, err := admin.Approval(ctx, first)
	if err != nil || shown.Caller.Subject != "socket:ann" || shown.Approval.Requester.Subject != "test:alice" {
		t.Fatalf("Approval() = %+v, %v", shown, err)
	}
	digest := shown.Approval.Digest
	for name, tc := range map[string]struct {
		d    client.Decision
		want string
	}{
		"no digest":      {client.Decision{Decision: client.Approve}, client.ReasonInvalid},
		"another digest": {client.Decision{Decision: client.Approve, Digest: page.Items[1].Digest + "0"}, client.ReasonChanged},
		"no verb":        {client.Decision{Digest: digest}, client.ReasonInvalid},
		"bad arguments":  {client.Decision{Decision: client.Edit, Digest: digest, Arguments: []byte(`{"to":7}`)}, client.ReasonInvalid},
		"twice the same": {client.Decision{Decision: client.Edit, Digest: digest, Arguments: []byte(`{"to":"a","to":"b"}`)}, client.ReasonInvalid},
		"not an edit":    {client.Decision{Decision: client.Approve, Digest: digest, Arguments: []byte(`{}`)}, client.ReasonInvalid},
	} {
		if _, err := admin.Decide(ctx, first, tc.d); reason(t, err) != tc.want {
			t.Errorf("%s: Decide() = %v, want %s", name, err, tc.want)
		}
	}
	for i := range 3 { // again, it is the same decision, also when the task has ended
		if i == 2 {
			untilEnded(t, admin, task1)
		}
		decided, err := admin.Decide(ctx, first, client.Decision{Decision: client.Edit, Digest: digest, Arguments: []byte(`{"amount":1,"to":"bob"}`)})
		if err != nil || decided.Approval.State != client.Edited || decided.Approval.Resolution.By.Subject != "socket:ann" || decided.Approval.Resolution.Via != "api" {
			t.Fatalf("Decide() = %+v, %v", decided, err)
		}
	}
	if _, err := admin.Decide(ctx, first, client.Decision{Decision: client.Reject, Digest: digest}); reason(t, err) != client.ReasonConflict {
		t.Errorf("another decision: %v", err)
	}
	rejected, err := admin.Decide(ctx, second, client.Decision{Decision: client.Reject, Reason: "too much", Digest: page.Items[1].Digest})
	if err != nil || rejected.Approval.Resolution.Reason != "too much" {
		t.Errorf("Decide() = %+v, %v", rejected, err)
	}
	shownTask, err := admin.Task(ctx, task1)
	if err != nil || shownTask.Task.Owner != "test:alice" || !strings.Contains(string(shownTask.A2A), `"history"`) {
		t.Errorf("Task() = %+v, %v", shownTask, err)
	}
	third, _ := in.askAs(t, "acme/alice")
	if err := admin.DeleteTask(ctx, third); reason(t, err) != client.ReasonState {
		t.Errorf("a task that waits is deleted: %v", err)
	}
	if err := errors.Join(admin.CancelTask(ctx, third), admin.DeleteTask(ctx, third)); err != nil {
		t.Error(err)
	}
	if _, err := admin.Task(ctx, third); reason(t, err) != client.ReasonNotFound {
		t.Errorf("a deleted task is shown: %v", err)
	}
	if said := in.log.find("task is being deleted"); len(said) != 1 || said[0]["by"] != "socket:ann" || said[0]["task_id"] != third {
		t.Errorf("the log says %v", said)
	}
	tasks, err := admin.Tasks(ctx, client.TaskQuery{})
	if err != nil || len(tasks.Items) != 2 {
		t.Errorf("Tasks() = %+v, %v", tasks, err)
	}
}

// Who is not mapped, or has no role, reads and decides nothing, whether it exists or not;
// and what another tenant has does not exist.
func TestAdminSocketRefuses(t *testing.T) {
	t.Parallel()
	nothing := map[string]string{
		"": client.ReasonNotFound, "list approvals": "", "list tasks": "", "list webhooks": "", "show approval": client.ReasonNotFound, "decide": client.ReasonNotFound,
	}
	for name, tc := range map[string]struct {
		users string
		want  map[string]string // by operation; "" is for the others
	}{
		"nobody":       {someone("approver, operator, admin"), map[string]string{"": client.ReasonUnauthenticated}},
		"another role": {me("sre"), map[string]string{"": client.ReasonRole}},
		"an admin":     {me("admin"), map[string]string{"": client.ReasonRole}},
		"an approver":  {me("approver"), map[string]string{"": client.ReasonRole, "list approvals": "", "show approval": client.ReasonNotFound, "decide": client.ReasonNotFound}},
		"a requester": {me("requester"), map[string]string{
			"": client.ReasonNotFound, "list approvals": "", "list tasks": "", "list webhooks": client.ReasonRole, "decide": client.ReasonNotFound,
		}},
		"a viewer": {me("viewer"), map[string]string{
			"": client.ReasonRole, "list approvals": "", "list tasks": "", "list webhooks": "", "show approval": client.ReasonNotFound, "show task": client.ReasonNotFound,
		}},
		"another tenant": {strings.Replace(me("approver, operator"), "acme", "umbrella", 1), nothing},
		"no tenant":      {strings.Replace(me("approver, operator"), "tenant: acme, ", "", 1), nothing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, tc.users)
			in := start(t, c)
			taskID, approvalID := in.askAs(t, "other/alice")
			missing := "0194f0c0-0000-7000-8000-000000000000"
			here := everything(t.Context(), socketOf(c), taskID, approvalID)
			gone := everything(t.Context(), socketOf(c), missing, missing+".a1")
			for operation, err := range here {
				want, special := tc.want[operation]
				if !special {
					want = tc.want[""]
				}
				if got := reason(t, err); got != want {
					t.Errorf("%s: %v, want %s", operation, err, want)
				}
				if err != nil && strings.ReplaceAll(err.Error(), taskID, missing) != gone[operation].Error() {
					t.Errorf("%s: %v, and for what does not exist %v", operation, err, gone[operation])
				}
				if err != nil && want == client.ReasonUnauthenticated && (!strings.Contains(err.Error(), "uid "+strconv.Itoa(os.Getuid())) || !strings.Contains(err.Error(), "auth.socket")) {
					t.Errorf("%s: %v does not say whom to add, and where", operation, err)
				}
			}
			if status, text := rawSocket(t, c, http.MethodPost, "/api/v1/approvals/"+approvalID+"/decision", "not JSON", nil); (tc.want["decide"] == "" && tc.want[""] != client.ReasonNotFound) != (status == http.StatusForbidden || status == http.StatusUnauthorized) {
				t.Errorf("a body that is no JSON is answered with %d %s", status, text)
			}
			if page, err := socketOf(c).Approvals(t.Context(), client.ApprovalQuery{}); err == nil && len(page.Items) > 0 {
				t.Errorf("it lists %+v", page)
			}
			for operation, err := range everything(t.Context(), anonymousOf(c), taskID, approvalID) {
				if err == nil && name != "an admin" || reason(t, err) == "" && !strings.HasPrefix(operation, "list ") {
					t.Errorf("%s of anonymous: %v", operation, err)
				}
			}
		})
	}
}

// What was made without authentication is decided by an admin.
func TestAdminSocketOfAnonymous(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("admin"))
	c.Authenticator = nil
	in := start(t, c)
	taskID, approvalID := in.askAs(t, "")
	admin := anonymousOf(c)
	shown, err := admin.Approval(t.Context(), approvalID)
	if err != nil {
		t.Fatal(err)
	}
	decided, err := admin.Decide(t.Context(), approvalID, client.Decision{Decision: client.Reject, Digest: shown.Approval.Digest})
	if err != nil || decided.Approval == nil || decided.Approval.State != client.Rejected {
		t.Errorf("Decide() = %+v, %v", decided, err)
	}
	if list, err := admin.Tasks(t.Context(), client.TaskQuery{}); err != nil || len(list.Items) != 1 || list.Items[0].ID != taskID {
		t.Errorf("Tasks() = %+v, %v", list, err)
	}
}

// A second server on a data folder is refused before it touches the socket, which is there
// as long as the first one runs.
func TestAdminSocketOfTwoServers(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver"))
	path := socketPath(c)
	in := startHooked(t, c, nil)
	before, err := os.Lstat(path)
	if err != nil || before.Mode() != os.ModeSocket|0o600 {
		t.Fatalf("the socket is %v, %v", before, err)
	}
	for _, store := range []string{"bolt", "bolt:" + filepath.Join(t.TempDir(), "other.db")} {
		c.Set["store"] = store
		if second, err := testserver.New(c); err == nil {
			t.Errorf("a second server on %s starts: %v", store, second.Close())
		}
	}
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the second server has replaced the socket: %v", err)
	}
	if _, err := socketOf(c).Approvals(t.Context(), client.ApprovalQuery{}); err != nil {
		t.Errorf("the first one does not answer any more: %v", err)
	}
	in.halt(t)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after it has stopped, the socket is still there: %v", err)
	}
	// A server that never runs takes its socket with it, too.
	c.Set["store"] = "bolt"
	never, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := never.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after Close the socket is still there: %v", err)
	}
}

// Without users, or without a file that keeps other servers out, there is no socket; and a
// server that cannot make one does not start.
func TestNoAdminSocket(t *testing.T) {
	t.Parallel()
	none := load(t, nil)
	start(t, none)
	memory := withSocket(t, me("approver"))
	memory.Set["store"] = "memory"
	inMemory := start(t, memory)
	given := withSocket(t, me("approver"))
	h, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	given.Store = h
	start(t, given)
	for name, c := range map[string]testserver.Config{"no users": none, "in memory": memory, "a store in Go": given} {
		if _, err := os.Lstat(socketPath(c)); !os.IsNotExist(err) {
			t.Errorf("%s: there is a socket: %v", name, err)
		}
	}
	if said := inMemory.log.find("auth.socket has no effect: the store is not a file, so that nothing keeps another server out of the data folder"); len(said) != 1 {
		t.Error("the log does not say that users have no effect")
	}
	blocked := withSocket(t, me("approver"))
	rewrite(t, socketPath(blocked), "mine")
	if s, err := testserver.New(blocked); err == nil || !strings.Contains(err.Error(), "is not a socket, and is not replaced") {
		t.Errorf("New() = %v, %v", s, err)
	}
	overflow := withSocket(t, "{uid: 65534, subject: nobody, roles: [approver]}")
	for name, check := range map[string]func() error{
		"New":   func() error { _, err := testserver.New(overflow); return err },
		"Check": func() error { return testserver.Check(overflow) },
	} {
		if err := check(); !errors.Is(err, a2aserver.ErrConfig) {
			t.Errorf("%s with the uid of unknown users = %v", name, err)
		}
	}
}

// A user who may decide is not the one as whom programs run that tools start, neither at the
// start nor after a reload, unless the configuration says so.
func TestAdminSocketOfPrograms(t *testing.T) {
	t.Parallel()
	const refused = "so they could approve their own calls"
	root := os.Getuid() == 0 // who may become anybody
	const command = "{command: now, description: says what time it is, run: [date]}"
	for name, tc := range map[string]struct {
		users, tools string
		refused      bool
	}{
		"a command":             {me("approver"), command, true},
		"a server of MCP":       {me("approver"), "{mcp: x, command: [no-such-program], only: ['*']}", true},
		"no programs":           {me("approver"), "", false},
		"a user who only looks": {me("viewer, operator"), command, false},
		"another user":          {someone("approver"), command, root},
		"approver of nobody":    {strings.Replace(me("approver"), "tenant: acme, ", "", 1), command, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, tc.users)
			write := func(tools, more string) {
				rewrite(t, c.File, "auth: {socket: ["+tc.users+"]}\ntools: ["+tools+"]\n"+more)
			}
			write(tc.tools, doorFor(tc.users))
			for what, do := range map[string]func() error{
				"Check": func() error { return testserver.Check(c) },
				"New": func() error {
					s, err := testserver.New(c)
					if err == nil {
						err = s.Close()
					}
					return err
				},
			} {
				if err := do(); (err != nil && strings.Contains(err.Error(), refused)) != tc.refused {
					t.Errorf("%s = %v", what, err)
				}
			}
			if tc.refused {
				if name == "a command" {
					write(tc.tools, "admin: {own_user_decides: true}\n")
					start(t, c)
				}
				return
			}
			in := start(t, c)
			write(command, doorFor(tc.users))
			if err := in.server.Reload(); (err != nil && strings.Contains(err.Error(), refused)) != (name == "no programs") {
				t.Errorf("Reload() = %v", err)
			}
		})
	}
}

// Without a socket, as with a store in memory, a reload takes what a start takes.
func TestReloadWithoutTheSocket(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver"))
	c.Set["store"] = "memory"
	in := start(t, c)
	rewrite(t, c.File, "auth: {socket: ["+me("approver")+"]}\ntools: [{command: now, description: says what time it is, run: [date]}]\n"+doorFor(me("approver")))
	if err := in.server.Reload(); err != nil {
		t.Errorf("Reload() = %v", err)
	}
}

// A user in auth.socket who could not connect is an error of the configuration, and the socket
// has the mode and the group that let them.
func TestAdminSocketDoor(t *testing.T) {
	t.Parallel()
	closed := withSocket(t, someone("approver"))
	rewrite(t, closed.File, "auth: {socket: ["+someone("approver")+"]}\n")
	want := "could not connect to the admin socket, whose mode is 0600: set admin.mode to 0660"
	if _, err := testserver.New(closed); !errors.Is(err, a2aserver.ErrConfig) || !strings.Contains(err.Error(), want) {
		t.Errorf("New() = %v", err)
	}
	if err := testserver.Check(closed); err != nil && !strings.Contains(err.Error(), want) { // an administrator may check it for another user
		t.Errorf("Check() = %v", err)
	}
	open := withSocket(t, someone("approver"))
	folder := t.TempDir()
	open.Set["admin.socket"] = filepath.Join(folder, "s")
	start(t, open)
	info, err := os.Lstat(open.Set["admin.socket"])
	if err != nil || info.Mode() != os.ModeSocket|0o660 {
		t.Fatalf("the socket is %v, %v", info, err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !strings.Contains(doorFor(someone("")), strconv.Itoa(int(stat.Gid))) {
		t.Error("the group of the socket is not that of admin.group")
	}
	hidden := withSocket(t, someone("approver"))
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	hidden.Set["admin.socket"] = filepath.Join(folder, "t")
	if _, err := testserver.New(hidden); err == nil || !strings.Contains(err.Error(), "may not enter") {
		t.Errorf("New() with a folder that is for its owner only = %v", err)
	}
	for _, more := range []string{"admin: {mode: '0660'}", "admin: {group: '7'}", "admin: {mode: '0666'}", "admin: {mode: '0660', group: no-such-group}"} {
		c := withSocket(t, me("approver"))
		rewrite(t, c.File, "auth: {socket: ["+me("approver")+"]}\n"+more+"\n")
		if err := testserver.Check(c); err == nil || !strings.Contains(err.Error(), "admin.") {
			t.Errorf("Check() with %s = %v", more, err)
		}
	}
}

// The socket answers its own commands only, whole and bounded.
func TestAdminSocketHostile(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver, operator, admin"))
	in := start(t, c)
	_, approvalID := in.askAs(t, "acme/alice")
	decision := "/api/v1/approvals/" + approvalID + "/decision"
	valid := `{"decision":"approve","digest":"x"}`
	for name, tc := range map[string]struct {
		method, path, host, body string
		header                   map[string]string
		want                     int
	}{
		"the commands' own":     {http.MethodGet, "/api/v1/approvals", "", "", nil, 200},
		"another host":          {http.MethodGet, "/api/v1/approvals", "localhost", "", nil, 403},
		"a page":                {http.MethodPost, decision, "", valid, map[string]string{"Origin": "http://a2a-server.admin"}, 403},
		"another site":          {http.MethodGet, "/api/v1/approvals", "", "", map[string]string{"Sec-Fetch-Site": "none"}, 403},
		"a name in a header":    {http.MethodGet, "/api/v1/approvals", "", "", map[string]string{"X-Who": "other/eve", "Authorization": "Bearer x"}, 200},
		"no operation":          {http.MethodGet, "/api/v1/keys", "", "", nil, 404},
		"the server's own page": {http.MethodGet, "/.well-known/agent-card.json", "", "", nil, 404},
		"another method":        {http.MethodPut, decision, "", valid, nil, 405},
		"a decision by GET":     {http.MethodGet, decision, "", "", nil, 405},
		"a path that goes up":   {http.MethodGet, "/api/v1/approvals/%2e%2e%2ftasks", "", "", nil, 404},
		"no JSON":               {http.MethodPost, decision, "", "approve", nil, 400},
		"nothing":               {http.MethodPost, decision, "", "", nil, 400},
		"a key twice":           {http.MethodPost, decision, "", `{"decision":"reject","decision":"approve","digest":"x"}`, nil, 400},
		"a key in capitals":     {http.MethodPost, decision, "", `{"decision":"reject","Decision":"approve","digest":"x"}`, nil, 400},
		"a key that is none":    {http.MethodPost, decision, "", `{"decision":"approve","digest":"x","by":"test:eve"}`, nil, 400},
		"much":                  {http.MethodPost, decision, "", `{"reason":"` + strings.Repeat("a", 600<<10) + `"}`, nil, 400},
		"deep":                  {http.MethodPost, decision, "", strings.Repeat("[", 200_000), nil, 400},
		"not UTF-8":             {http.MethodPost, decision, "", "{\"decision\":\"\xff\"}", nil, 400},
		"a limit that is none":  {http.MethodGet, "/api/v1/tasks?limit=1000000", "", "", nil, 400},
		"a cursor of nobody":    {http.MethodGet, "/api/v1/tasks?cursor=x", "", "", nil, 400},
		"a state of nothing":    {http.MethodGet, "/api/v1/tasks?state=%00", "", "", nil, 400},
	} {
		header := map[string]string{"Host": tc.host}
		maps.Copy(header, tc.header)
		status, text := rawSocket(t, c, tc.method, tc.path, tc.body, header)
		if status != tc.want || strings.Contains(text, "test:eve") {
			t.Errorf("%s: %d %.300s, want %d", name, status, text, tc.want)
		}
	}
	shown, err := socketOf(c).Approval(t.Context(), approvalID)
	if err != nil || shown.Approval.State != client.Pending {
		t.Errorf("after all that the approval is %+v, %v", shown, err)
	}
	for _, id := range []string{"", ".", "..", "../tasks", "a/b", "a?x=1", "a b", strings.Repeat("a", 1000), "\x00"} {
		if _, err := socketOf(c).Approval(t.Context(), id); err == nil || reason(t, err) != client.ReasonInvalid && reason(t, err) != client.ReasonNotFound {
			t.Errorf("the id %q: %v", id, err)
		}
	}
	if len(in.log.find("a request on the admin socket failed")) > 0 {
		t.Error("bad requests are failures of the server")
	}
}

// Requests that are sent by halves keep nobody else out.
func TestAdminSocketHalfSent(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver"))
	in := start(t, c)
	_, approvalID := in.askAs(t, "acme/alice")
	at := short(t, socketPath(c))
	for i := range 10 {
		half, err := (&net.Dialer{}).DialContext(t.Context(), "unix", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = half.Close() })
		_ = half.SetDeadline(time.Now().Add(time.Minute))
		text := "POST /api/v1/approvals/" + approvalID + "/decision HTTP/1.1\r\nHost: a2a-server.admin\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
		if _, err := io.WriteString(half, text); err != nil {
			t.Fatal(err)
		}
		// It is told to continue when its body is read.
		status := make([]byte, len("HTTP/1.1 100"))
		if _, err := io.ReadFull(half, status); err != nil || string(status) != "HTTP/1.1 100" {
			t.Fatalf("request %d beside others that are not sent is answered with %q, %v", i, status, err)
		}
		if _, err := io.WriteString(half, `{"decision":`); err != nil {
			t.Fatal(err)
		}
	}
	shown, err := socketOf(c).Approval(t.Context(), approvalID)
	if err != nil || shown.Approval.State != client.Pending {
		t.Errorf("beside them the approval is %+v, %v", shown, err)
	}
}

// A rule binds local users as everybody else: a requester is not their own second person
// under another name, and only the rule's approvers count.
func TestAdminSocketOfARule(t *testing.T) {
	t.Parallel()
	user := "{uid: " + strconv.Itoa(os.Getuid()) + ", subject: ann, tenant: acme, roles: [approver, %], person: 'test:alice'}"
	for name, tc := range map[string]struct {
		role, gate, whose string
		want              string
	}{
		"somebody else's":       {"sre", "four_eyes: true", "acme/carl", ""},
		"their own":             {"sre", "four_eyes: true", "acme/alice", client.ReasonNotAllowed},
		"an approver's":         {"sre", "approvers: {roles: [sre]}", "acme/carl", ""},
		"not an approver's":     {"dev", "approvers: {roles: [sre]}", "acme/carl", client.ReasonNotAllowed},
		"an approver's by name": {"dev", "approvers: {subjects: ['socket:ann']}", "acme/carl", ""},
		"for others elsewhere":  {"dev", "elsewhere: true", "acme/alice", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, strings.Replace(user, "%", tc.role, 1))
			users := "auth: {socket: [" + strings.Replace(user, "%", tc.role, 1) + "]}\n"
			rewrite(t, c.File, users+"gates:\n  - {tool: transfer_money, "+tc.gate+"}\n")
			in := start(t, c)
			in.askAs(t, "acme/alice") // whom the local user names
			_, approvalID := in.askAs(t, tc.whose)
			shown, err := socketOf(c).Approval(t.Context(), approvalID)
			if err != nil {
				t.Fatal(err)
			}
			_, err = socketOf(c).Decide(t.Context(), approvalID, client.Decision{Decision: client.Reject, Digest: shown.Approval.Digest})
			if got := reason(t, err); got != tc.want {
				t.Errorf("Decide() = %v, want %s", err, tc.want)
			}
		})
	}
}

// Beside the authenticator of a program, grants and votes of a local user end with their entry in auth.socket.
func TestLocalUserWhoIsRemoved(t *testing.T) {
	t.Parallel()
	const gates = "gates: [{tool: echo, grants: {scopes: [time], max: 240h}}, {tool: transfer_money, people: 2}]\n"
	for name, tc := range map[string]struct {
		users  string // after a restart
		covers bool   // whether the grant covers a call
		counts bool   // whether the vote counts
	}{
		"as before":         {me("approver"), true, true},
		"has another role":  {me("viewer"), false, true},
		"is not there":      {strings.Replace(someone("approver"), "ann", "gil", 1), false, false},
		"there are no more": {"", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, me("approver"))
			rewrite(t, c.File, "auth: {socket: ["+me("approver")+"]}\n"+gates)
			in := startHooked(t, c, nil)
			approve := func(id string, grant *client.GrantRequest) {
				shown, err := socketOf(c).Approval(t.Context(), id)
				if err == nil {
					_, err = socketOf(c).Decide(t.Context(), id, client.Decision{Decision: client.Approve, Digest: shown.Approval.Digest, Grant: grant})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			asked, said := in.sendAs(t, message("m1", "/echo text=x"), "X-Who", "acme/alice")
			if asked.Status.State != waits {
				t.Fatal(said)
			}
			approve(asked.ID+".a1", &client.GrantRequest{Scope: string(approval.GrantTime)})
			_, voted := in.askAs(t, "acme/alice")
			approve(voted, nil)
			in.halt(t)
			rewrite(t, c.File, "auth: {socket: ["+tc.users+"]}\n"+doorFor(tc.users)+gates)
			in = startHooked(t, c, nil)
			defer in.halt(t)
			got, said := in.sendAs(t, message("m2", "/echo text=x"), "X-Who", "acme/alice")
			if covered := got.Status.State == "TASK_STATE_COMPLETED"; covered != tc.covers {
				t.Errorf("the grant covers the call: %t, want %t: %s", covered, tc.covers, said)
			}
			other := auth.Principal{Tenant: "acme", Subject: "socket:bea", Roles: []string{auth.RoleApprover}, Method: "desk"}
			if err := in.server.Approvals().Decide(t.Context(), other, approval.Decision{ID: voted, Type: approval.Approve}); (err == nil) != tc.counts {
				t.Errorf("the second vote: %v, want the first to count: %t", err, tc.counts)
			}
		})
	}
}

// A2A on a Unix socket knows its callers by their user id, and refuses those it does not
// know, whatever they say about themselves.
func TestPeersOfAUnixSocket(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		uid    int
		status int
	}{"known": {os.Getuid(), http.StatusOK}, "unknown": {os.Getuid() + 1, http.StatusUnauthorized}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known, err := peer.New(peer.User{UID: uint32(tc.uid), Name: "ann", Roles: []string{auth.RoleRequester}})
			if err != nil {
				t.Fatal(err)
			}
			c := load(t, nil)
			delete(c.Set, "listen")
			c.Authenticator, c.NoListen = known, true
			server, err := testserver.New(c)
			if err != nil {
				t.Fatal(err)
			}
			stop, _ := run(t, server)
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", short(t, filepath.Join(t.TempDir(), "a2a.sock")))
			if err != nil {
				t.Fatal(err)
			}
			web := &http.Server{Handler: server.Handler(), ConnContext: peer.WithConn}
			go func() { _ = web.Serve(l) }()
			t.Cleanup(func() {
				_ = web.Close()
				if err := stop(); err != nil {
					t.Errorf("Run() = %v", err)
				}
			})
			in := &instance{url: "http://localhost", client: unixClient(l.Addr().String())}
			var answer answered
			until(t, "Run serves", func() bool {
				answer = in.fetch(t, http.MethodPost, "/", request(t, "SendMessage", message("m", "/transfer_money to=bob amount=5")), "X-Who", "acme/eve")
				return answer.Status != http.StatusServiceUnavailable
			})
			if answer.Status != tc.status {
				t.Fatalf("it answers %+v", answer)
			}
			ann := auth.Principal{Subject: "socket:ann", Roles: []string{auth.RoleRequester}, Method: peer.Method}
			page, err := server.Approvals().List(t.Context(), ann, engine.ApprovalQuery{})
			if want := map[bool]int{true: 1}[tc.status == http.StatusOK]; err != nil || len(page.Approvals) != want {
				t.Errorf("List() = %+v, %v, want %d of socket:ann", page, err, want)
			}
			if got := answer.Header.Values("WWW-Authenticate"); tc.status != http.StatusOK && (len(got) != 1 || !strings.HasPrefix(got[0], "Peer ")) {
				t.Errorf("the challenge is %v", got)
			}
		})
	}
}
