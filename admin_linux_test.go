package a2aserver_test

import (
	"cmp"
	"context"
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
	"sync"
	"testing"
	"time"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/internal/adminsocket"
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
func withSocket(t *testing.T, users string) a2aserver.Config {
	t.Helper()
	c := load(t, nil)
	c.File = filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(c.File, []byte("auth: {socket: ["+users+"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Authenticator = tenantAndName
	return c
}

// me is the entry of this process's user in auth.socket.
func me(roles string) string {
	return "{uid: " + strconv.Itoa(os.Getuid()) + ", subject: ann, tenant: acme, roles: [" + roles + "]}"
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

func socketOf(c a2aserver.Config) *adminsocket.Client {
	return adminsocket.NewClient(a2aserver.AdminSocket(c.Set["data"]))
}

// askAs makes a call of somebody that has to be approved, and returns its task and approval.
func (in *instance) askAs(t *testing.T, whose string) (taskID, approvalID string) {
	t.Helper()
	status, text := in.do(t, http.MethodPost, "/", request(t, "SendMessage", message("m-"+whose+"-"+strconv.Itoa(len(in.log.all())), "/transfer_money to=bob amount=5")), "X-Who", whose)
	_, after, ok := strings.Cut(text, `"task":{"id":"`)
	if status != http.StatusOK || !ok {
		t.Fatalf("SendMessage = %d %s", status, text)
	}
	taskID, _, _ = strings.Cut(after, `"`)
	return taskID, taskID + ".a1"
}

// reason returns the reason of an error of the socket; "": none.
func reason(t *testing.T, err error) string {
	t.Helper()
	var e *adminsocket.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error = %v, which is not one of the server", err)
	}
	if e == nil {
		return ""
	}
	return e.Reason
}

// everything does each operation on an approval and its task, and returns the errors.
func everything(ctx context.Context, c *adminsocket.Client, taskID, approvalID string, q adminsocket.Query) map[string]error {
	all := map[string]error{}
	_, all["list approvals"] = c.Approvals(ctx, q)
	_, all["show approval"] = c.Approval(ctx, approvalID, q)
	_, all["decide"] = c.Decide(ctx, approvalID, q, adminsocket.Decision{Verb: approval.Approve, Digest: "x"})
	_, all["list tasks"] = c.Tasks(ctx, q)
	_, all["show task"] = c.Task(ctx, taskID, q)
	all["cancel"] = c.Cancel(ctx, taskID, q)
	all["delete"] = c.Delete(ctx, taskID, q)
	_, all["delete webhook"] = c.DeleteWebhook(ctx, taskID, "hook", q)
	return all
}

// rawSocket sends a request to a server's socket, and returns the answer, which is always
// JSON.
func rawSocket(t *testing.T, c a2aserver.Config, method, path, body string, header map[string]string) (status int, text string) {
	t.Helper()
	at := short(t, a2aserver.AdminSocket(c.Set["data"]))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", at)
	}}}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+cmp.Or(header["Host"], "a2a-server.admin")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k != "Host" {
			r.Header.Set(k, v)
		}
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: the answer is %q of type %q, %v", method, path, all, answer.Header.Get("Content-Type"), err)
	}
	return answer.StatusCode, string(all)
}

// untilEnded waits until a task has ended.
func (in *instance) untilEnded(t *testing.T, admin *adminsocket.Client, id string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; {
		shown, err := admin.Task(t.Context(), id, adminsocket.Query{})
		if err != nil || time.Now().After(late) {
			t.Fatalf("the task is %+v, %v", shown, err)
		}
		if shown.Summary.State.Terminal() {
			return
		}
	}
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
	page, err := admin.Approvals(ctx, adminsocket.Query{})
	if err != nil || len(page.Approvals) != 2 || page.Approvals[0].ID != first || page.Approvals[1].ID != second {
		t.Fatalf("Approvals() = %+v, %v", page, err)
	}
	small, err := admin.Approvals(ctx, adminsocket.Query{Limit: 1})
	if err != nil || len(small.Approvals) != 1 || small.Next == "" {
		t.Errorf("Approvals(1) = %+v, %v", small, err)
	}
	shown, err := admin.Approval(ctx, first, adminsocket.Query{})
	if err != nil || shown.Caller.Subject != "socket:ann" || shown.Approval.Requester.Subject != "test:alice" {
		t.Fatalf("Approval() = %+v, %v", shown, err)
	}
	digest := shown.Approval.Digest
	for name, tc := range map[string]struct {
		d    adminsocket.Decision
		want string
	}{
		"no digest":      {adminsocket.Decision{Verb: approval.Approve}, adminsocket.ReasonInvalid},
		"another digest": {adminsocket.Decision{Verb: approval.Approve, Digest: page.Approvals[1].Digest + "0"}, string(approval.ReasonChanged)},
		"no verb":        {adminsocket.Decision{Digest: digest}, string(approval.ReasonMalformed)},
		"bad arguments":  {adminsocket.Decision{Verb: approval.Edit, Digest: digest, Args: []byte(`{"to":7}`)}, string(approval.ReasonMalformed)},
		"twice the same": {adminsocket.Decision{Verb: approval.Edit, Digest: digest, Args: []byte(`{"to":"a","to":"b"}`)}, adminsocket.ReasonInvalid},
		"not an edit":    {adminsocket.Decision{Verb: approval.Approve, Digest: digest, Args: []byte(`{}`)}, string(approval.ReasonMalformed)},
	} {
		if _, err := admin.Decide(ctx, first, adminsocket.Query{}, tc.d); reason(t, err) != tc.want {
			t.Errorf("%s: Decide() = %v, want %s", name, err, tc.want)
		}
	}
	for i := range 3 { // again, it is the same decision, also when the task has ended
		if i == 2 {
			in.untilEnded(t, admin, task1)
		}
		decided, err := admin.Decide(ctx, first, adminsocket.Query{}, adminsocket.Decision{Verb: approval.Edit, Digest: digest, Args: []byte(`{"amount":1,"to":"bob"}`)})
		if err != nil || decided.Approval.State != approval.Edited || decided.Approval.Resolution.By.Subject != "socket:ann" || decided.Approval.Resolution.Via != approval.ViaAPI {
			t.Fatalf("Decide() = %+v, %v", decided, err)
		}
	}
	if _, err := admin.Decide(ctx, first, adminsocket.Query{}, adminsocket.Decision{Verb: approval.Reject, Digest: digest}); reason(t, err) != string(approval.ReasonConflict) {
		t.Errorf("another decision: %v", err)
	}
	rejected, err := admin.Decide(ctx, second, adminsocket.Query{}, adminsocket.Decision{Verb: approval.Reject, Reason: "too much", Digest: page.Approvals[1].Digest})
	if err != nil || rejected.Approval.Resolution.Reason != "too much" {
		t.Errorf("Decide() = %+v, %v", rejected, err)
	}
	shownTask, err := admin.Task(ctx, task1, adminsocket.Query{})
	if err != nil || shownTask.Summary.Owner != "test:alice" || !strings.Contains(string(shownTask.Task), `"history"`) {
		t.Errorf("Task() = %+v, %v", shownTask, err)
	}
	third, _ := in.askAs(t, "acme/alice")
	if err := admin.Delete(ctx, third, adminsocket.Query{}); reason(t, err) != adminsocket.ReasonState {
		t.Errorf("a task that waits is deleted: %v", err)
	}
	if err := errors.Join(admin.Cancel(ctx, third, adminsocket.Query{}), admin.Delete(ctx, third, adminsocket.Query{})); err != nil {
		t.Error(err)
	}
	if _, err := admin.Task(ctx, third, adminsocket.Query{}); reason(t, err) != adminsocket.ReasonNoTask {
		t.Errorf("a deleted task is shown: %v", err)
	}
	if said := in.log.find("task is being deleted"); len(said) != 1 || said[0]["by"] != "socket:ann" || said[0]["task_id"] != third {
		t.Errorf("the log says %v", said)
	}
	tasks, err := admin.Tasks(ctx, adminsocket.Query{})
	if err != nil || len(tasks.Tasks) != 2 {
		t.Errorf("Tasks() = %+v, %v", tasks, err)
	}
}

// Who is not mapped, or has no role, reads and decides nothing, whether it exists or not;
// and what another tenant has does not exist.
func TestAdminSocketRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		users string
		want  map[string]string // by operation; "" is for the others
	}{
		"nobody":       {strings.Replace(me("approver, operator, admin"), strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getuid()+1), 1), map[string]string{"": adminsocket.ReasonUnknownUser}},
		"another role": {me("sre"), map[string]string{"": adminsocket.ReasonRole}},
		"an admin":     {me("admin"), map[string]string{"": adminsocket.ReasonRole}},
		"an approver":  {me("approver"), map[string]string{"": adminsocket.ReasonRole, "list approvals": "", "show approval": string(approval.ReasonUnknown), "decide": string(approval.ReasonUnknown)}},
		"another tenant": {
			strings.Replace(me("approver, operator"), "acme", "umbrella", 1),
			map[string]string{
				"": adminsocket.ReasonNoTask, "list approvals": "", "list tasks": "",
				"show approval": string(approval.ReasonUnknown), "decide": string(approval.ReasonUnknown),
			},
		},
		"no tenant": {
			strings.Replace(me("approver, operator"), "tenant: acme, ", "", 1),
			map[string]string{
				"": adminsocket.ReasonNoTask, "list approvals": "", "list tasks": "",
				"show approval": string(approval.ReasonUnknown), "decide": string(approval.ReasonUnknown),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, tc.users)
			in := start(t, c)
			taskID, approvalID := in.askAs(t, "other/alice")
			missing := "0194f0c0-0000-7000-8000-000000000000"
			here := everything(t.Context(), socketOf(c), taskID, approvalID, adminsocket.Query{})
			gone := everything(t.Context(), socketOf(c), missing, missing+".a1", adminsocket.Query{})
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
				if err != nil && want == adminsocket.ReasonUnknownUser && (!strings.Contains(err.Error(), "uid "+strconv.Itoa(os.Getuid())) || !strings.Contains(err.Error(), "auth.socket")) {
					t.Errorf("%s: %v does not say whom to add, and where", operation, err)
				}
			}
			if status, text := rawSocket(t, c, http.MethodPost, "/v1/approvals/"+approvalID+"/decision", "not JSON", nil); (tc.want["decide"] == "" && tc.want[""] != adminsocket.ReasonNoTask) != (status == http.StatusForbidden) {
				t.Errorf("a body that is no JSON is answered with %d %s", status, text)
			}
			if page, err := socketOf(c).Approvals(t.Context(), adminsocket.Query{}); err == nil && len(page.Approvals) > 0 {
				t.Errorf("it lists %+v", page)
			}
			for operation, err := range everything(t.Context(), socketOf(c), taskID, approvalID, adminsocket.Query{Anonymous: true}) {
				if err == nil && name != "an admin" || reason(t, err) == "" && operation != "list approvals" && operation != "list tasks" {
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
	admin, q := socketOf(c), adminsocket.Query{Anonymous: true}
	shown, err := admin.Approval(t.Context(), approvalID, q)
	if err != nil {
		t.Fatal(err)
	}
	decided, err := admin.Decide(t.Context(), approvalID, q, adminsocket.Decision{Verb: approval.Reject, Digest: shown.Approval.Digest})
	if err != nil || decided.Approval == nil || decided.Approval.State != approval.Rejected {
		t.Errorf("Decide() = %+v, %v", decided, err)
	}
	if list, err := admin.Tasks(t.Context(), q); err != nil || len(list.Tasks) != 1 || list.Tasks[0].ID != taskID {
		t.Errorf("Tasks() = %+v, %v", list, err)
	}
}

// Of many decisions at one moment, one counts, and the others learn which.
func TestAdminSocketDecidesOnce(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver"))
	in := start(t, c)
	_, approvalID := in.askAs(t, "acme/alice")
	shown, err := socketOf(c).Approval(t.Context(), approvalID, adminsocket.Query{})
	if err != nil {
		t.Fatal(err)
	}
	verbs := []approval.Verb{approval.Approve, approval.Reject}
	errs := make([]error, 8)
	var deciding sync.WaitGroup
	for i := range errs {
		deciding.Go(func() {
			_, errs[i] = socketOf(c).Decide(t.Context(), approvalID, adminsocket.Query{}, adminsocket.Decision{Verb: verbs[i%2], Digest: shown.Approval.Digest})
		})
	}
	deciding.Wait()
	after, err := socketOf(c).Approval(t.Context(), approvalID, adminsocket.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		want := string(approval.ReasonConflict)
		if verbs[i%2] == after.Approval.Resolution.Verb {
			want = ""
		}
		if got := reason(t, err); got != want {
			t.Errorf("%s, and %s counts: %v", verbs[i%2], after.Approval.Resolution.Verb, err)
		}
	}
}

// A second server on a data folder is refused before it touches the socket, which is there
// as long as the first one runs.
func TestAdminSocketOfTwoServers(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver"))
	path := a2aserver.AdminSocket(c.Set["data"])
	in := startHooked(t, c, nil)
	before, err := os.Lstat(path)
	if err != nil || before.Mode() != os.ModeSocket|0o600 {
		t.Fatalf("the socket is %v, %v", before, err)
	}
	for _, store := range []string{"bolt", "bolt:" + filepath.Join(t.TempDir(), "other.db")} {
		c.Set["store"] = store
		if second, err := a2aserver.New(c); err == nil {
			t.Errorf("a second server on %s starts: %v", store, second.Close())
		}
	}
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the second server has replaced the socket: %v", err)
	}
	if _, err := socketOf(c).Approvals(t.Context(), adminsocket.Query{}); err != nil {
		t.Errorf("the first one does not answer any more: %v", err)
	}
	if err := in.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after it has stopped, the socket is still there: %v", err)
	}
	// A server that never runs takes its socket with it, too.
	c.Set["store"] = "bolt"
	never, err := a2aserver.New(c)
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
	for name, c := range map[string]a2aserver.Config{"no users": none, "in memory": memory, "a store in Go": given} {
		if _, err := os.Lstat(a2aserver.AdminSocket(c.Set["data"])); !os.IsNotExist(err) {
			t.Errorf("%s: there is a socket: %v", name, err)
		}
	}
	if said := inMemory.log.find("auth.socket has no effect: the store is not a file, so that nothing keeps another server out of the data folder"); len(said) != 1 {
		t.Error("the log does not say that users have no effect")
	}
	blocked := withSocket(t, me("approver"))
	if err := os.WriteFile(a2aserver.AdminSocket(blocked.Set["data"]), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := a2aserver.New(blocked); err == nil || !strings.Contains(err.Error(), "is not a socket, and is not replaced") {
		t.Errorf("New() = %v, %v", s, err)
	}
	overflow := withSocket(t, "{uid: 65534, subject: nobody, roles: [approver]}")
	for name, check := range map[string]func() error{
		"New":   func() error { _, err := a2aserver.New(overflow); return err },
		"Check": func() error { return a2aserver.Check(overflow) },
	} {
		if err := check(); !errors.Is(err, a2aserver.ErrConfig) {
			t.Errorf("%s with the uid of unknown users = %v", name, err)
		}
	}
}

// Who runs programs as a user who may decide learns that these could decide, too, also when
// a reload adds them.
func TestAdminSocketOfPrograms(t *testing.T) {
	t.Parallel()
	const warning = "programs that tools start run as a user who may decide approvals on the admin socket, so they could approve calls themselves: run the server as a user who may not decide"
	other := strings.Replace(me("approver"), strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getuid()+1), 1)
	root := os.Getuid() == 0 // who may become anybody
	for name, tc := range map[string]struct {
		users, tools string
		want         bool
	}{
		"a command":             {me("approver"), "{command: now, description: says what time it is, run: [date]}", true},
		"a server of MCP":       {me("approver"), "{mcp: x, command: [no-such-program], only: ['*']}", true},
		"no programs":           {me("approver"), "", false},
		"a user who only looks": {me("viewer, operator"), "{command: now, description: says what time it is, run: [date]}", false},
		"another user":          {other, "{command: now, description: says what time it is, run: [date]}", root},
		"approver of nobody":    {strings.Replace(me("approver"), "tenant: acme, ", "", 1), "{command: now, description: says what time it is, run: [date]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, tc.users)
			write := func(tools string) {
				if err := os.WriteFile(c.File, []byte("auth: {socket: ["+tc.users+"]}\ntools: ["+tools+"]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(tc.tools)
			in := start(t, c)
			n := len(in.log.find(warning))
			if n > 1 || (n == 1) != tc.want {
				t.Errorf("the log warns %d times", n)
			}
			write("{command: now, description: says what time it is, run: [date]}")
			if err := in.server.Reload(); err != nil {
				t.Fatal(err)
			}
			if again := len(in.log.find(warning)); again > n != (tc.want || name == "no programs") {
				t.Errorf("after a reload the log warns %d times, before %d", again, n)
			}
		})
	}
}

// The socket answers its own commands only, whole and bounded.
func TestAdminSocketHostile(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver, operator, admin"))
	in := start(t, c)
	_, approvalID := in.askAs(t, "acme/alice")
	decision := "/v1/approvals/" + approvalID + "/decision"
	valid := `{"verb":"approve","digest":"x"}`
	for name, tc := range map[string]struct {
		method, path, host, body string
		header                   map[string]string
		want                     int
	}{
		"the commands' own":     {http.MethodGet, "/v1/approvals", "", "", nil, 200},
		"another host":          {http.MethodGet, "/v1/approvals", "localhost", "", nil, 403},
		"a page":                {http.MethodPost, decision, "", valid, map[string]string{"Origin": "http://a2a-server.admin"}, 403},
		"another site":          {http.MethodGet, "/v1/approvals", "", "", map[string]string{"Sec-Fetch-Site": "none"}, 403},
		"a name in a header":    {http.MethodGet, "/v1/approvals", "", "", map[string]string{"X-Who": "other/eve", "Authorization": "Bearer x"}, 200},
		"no operation":          {http.MethodGet, "/v1/keys", "", "", nil, 404},
		"the server's own page": {http.MethodGet, "/.well-known/agent-card.json", "", "", nil, 404},
		"another method":        {http.MethodPut, decision, "", valid, nil, 404},
		"a decision by GET":     {http.MethodGet, decision, "", "", nil, 404},
		"a path that goes up":   {http.MethodGet, "/v1/approvals/%2e%2e%2ftasks", "", "", nil, 404},
		"no JSON":               {http.MethodPost, decision, "", "approve", nil, 400},
		"nothing":               {http.MethodPost, decision, "", "", nil, 400},
		"a key twice":           {http.MethodPost, decision, "", `{"verb":"reject","verb":"approve","digest":"x"}`, nil, 400},
		"a key in capitals":     {http.MethodPost, decision, "", `{"verb":"reject","Verb":"approve","digest":"x"}`, nil, 400},
		"a key that is none":    {http.MethodPost, decision, "", `{"verb":"approve","digest":"x","by":"test:eve"}`, nil, 400},
		"much":                  {http.MethodPost, decision, "", `{"reason":"` + strings.Repeat("a", 600<<10) + `"}`, nil, 400},
		"deep":                  {http.MethodPost, decision, "", strings.Repeat("[", 200_000), nil, 400},
		"not UTF-8":             {http.MethodPost, decision, "", "{\"verb\":\"\xff\"}", nil, 400},
		"a limit that is none":  {http.MethodGet, "/v1/tasks?limit=1000000", "", "", nil, 400},
		"a cursor of nobody":    {http.MethodGet, "/v1/tasks?cursor=x", "", "", nil, 400},
		"a state of nothing":    {http.MethodGet, "/v1/tasks?state=%00", "", "", nil, 400},
	} {
		header := map[string]string{"Host": tc.host}
		maps.Copy(header, tc.header)
		status, text := rawSocket(t, c, tc.method, tc.path, tc.body, header)
		if status != tc.want || strings.Contains(text, "test:eve") {
			t.Errorf("%s: %d %.300s, want %d", name, status, text, tc.want)
		}
	}
	shown, err := socketOf(c).Approval(t.Context(), approvalID, adminsocket.Query{})
	if err != nil || shown.Approval.State != approval.Pending {
		t.Errorf("after all that the approval is %+v, %v", shown, err)
	}
	for _, id := range []string{"", ".", "..", "../tasks", "a/b", "a?x=1", "a b", strings.Repeat("a", 1000), "\x00"} {
		if _, err := socketOf(c).Approval(t.Context(), id, adminsocket.Query{}); reason(t, err) != adminsocket.ReasonInvalid {
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
	at := short(t, a2aserver.AdminSocket(c.Set["data"]))
	for i := range 20 {
		half, err := (&net.Dialer{}).DialContext(t.Context(), "unix", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = half.Close() })
		_ = half.SetDeadline(time.Now().Add(time.Minute))
		text := "POST /v1/approvals/" + approvalID + "/decision HTTP/1.1\r\nHost: a2a-server.admin\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n"
		if _, err := io.WriteString(half, text); err != nil {
			t.Fatal(err)
		}
		// It is told to continue when its body is read.
		status := make([]byte, len("HTTP/1.1 100"))
		if _, err := io.ReadFull(half, status); err != nil || string(status) != "HTTP/1.1 100" {
			t.Fatalf("request %d beside others that are not sent is answered with %q, %v", i, status, err)
		}
		if _, err := io.WriteString(half, `{"verb":`); err != nil {
			t.Fatal(err)
		}
	}
	shown, err := socketOf(c).Approval(t.Context(), approvalID, adminsocket.Query{})
	if err != nil || shown.Approval.State != approval.Pending {
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
		"their own":             {"sre", "four_eyes: true", "acme/alice", string(approval.ReasonNotAllowed)},
		"an approver's":         {"sre", "approvers: {roles: [sre]}", "acme/carl", ""},
		"not an approver's":     {"dev", "approvers: {roles: [sre]}", "acme/carl", string(approval.ReasonNotAllowed)},
		"an approver's by name": {"dev", "approvers: {subjects: ['socket:ann']}", "acme/carl", ""},
		"for others elsewhere":  {"dev", "elsewhere: true", "acme/alice", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, strings.Replace(user, "%", tc.role, 1))
			text, err := os.ReadFile(c.File)
			if err == nil {
				err = os.WriteFile(c.File, append(text, "gates:\n  - {tool: transfer_money, "+tc.gate+"}\n"...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			in := start(t, c)
			_, approvalID := in.askAs(t, tc.whose)
			shown, err := socketOf(c).Approval(t.Context(), approvalID, adminsocket.Query{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = socketOf(c).Decide(t.Context(), approvalID, adminsocket.Query{}, adminsocket.Decision{Verb: approval.Reject, Digest: shown.Approval.Digest})
			if got := reason(t, err); got != tc.want {
				t.Errorf("Decide() = %v, want %s", err, tc.want)
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
			server, err := a2aserver.New(c)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- server.Run(ctx) }()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", short(t, filepath.Join(t.TempDir(), "a2a.sock")))
			if err != nil {
				t.Fatal(err)
			}
			web := &http.Server{Handler: server.Handler(), ConnContext: peer.WithConn}
			go func() { _ = web.Serve(l) }()
			t.Cleanup(func() {
				_ = web.Close()
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Run() = %v", err)
				}
			})
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", l.Addr().String())
			}}}
			var answer *http.Response
			var text []byte
			for status := http.StatusServiceUnavailable; status == http.StatusServiceUnavailable; status = answer.StatusCode { // until Run serves
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/message:send", strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/transfer_money to=bob amount=5"}]}}`))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("A2A-Version", "1.0")
				r.Header.Set("X-Who", "acme/eve")
				if answer, err = client.Do(r); err != nil {
					t.Fatal(err)
				}
				text, err = io.ReadAll(answer.Body)
				if _ = answer.Body.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if answer.StatusCode != tc.status {
				t.Fatalf("it answers %d %s", answer.StatusCode, text)
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
