package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/client"
	"a2a-server/internal/testserver"
)

// voters is a server with keys of people, and callers of a proxy.
type voters struct {
	*instance
	t      *testing.T
	keys   map[string]string
	config testserver.Config
}

func withVoters(t *testing.T, people, gates string) *voters {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	v := &voters{t: t, keys: map[string]string{}}
	for _, k := range []apikey.Key{
		{ID: "alice", Roles: []string{auth.RoleRequester}}, {ID: "alice2", Roles: []string{auth.RoleApprover}},
		{ID: "bob", Roles: []string{auth.RoleApprover, "finance"}}, {ID: "bob2", Roles: []string{auth.RoleApprover}},
		{ID: "carl", Roles: []string{auth.RoleApprover, "legal"}}, {ID: "ci", Kind: auth.KindService, Roles: []string{auth.RoleApprover}},
	} {
		k.Tenant = "acme"
		v.keys[k.ID] = newKey(t, file, k)
	}
	v.config, _ = configured(t, fmt.Sprintf(`
auth:
  keys: {file: %q}
  proxy: {header: X-User, from: [127.0.0.1], tenant: acme, roles: [approver, requester]}
  people: %s
gates: %s
`, file, people, gates))
	v.instance = start(t, v.config)
	return v
}

// header returns the credential of a key or, with proxy:, of a caller of the proxy, with a blank and their groups.
func (v *voters) header(who string) []string {
	if name, is := strings.CutPrefix(who, "proxy:"); is {
		name, groups, _ := strings.Cut(name, " ")
		return []string{"X-User", name, "X-Groups", groups}
	}
	return []string{"X-API-Key", v.keys[who]}
}

// ask returns the task whose call alice asks for.
func (v *voters) ask(id string) string { return v.asks(id, "x") }

// asks is ask for a payment to somebody.
func (v *voters) asks(id, to string) string {
	v.t.Helper()
	got, said := v.sendAs(v.t, message(id, "/transfer_money amount=1 to="+to), v.header("alice")...)
	if !settled(said) || got.Status.State == "TASK_STATE_COMPLETED" {
		v.t.Fatalf("the task is %s", said)
	}
	return got.ID
}

// detail returns an approval as somebody sees it.
func (v *voters) detail(who, id string) (d client.ApprovalDetail) {
	v.t.Helper()
	status, text := v.do(v.t, http.MethodGet, "/api/v1/approvals/"+id, "", v.header(who)...)
	if err := json.Unmarshal([]byte(text), &d); err != nil || status != http.StatusOK {
		v.t.Fatalf("%s reads %s: %d %s", who, id, status, text)
	}
	return d
}

// decide decides an approval over the API.
func (v *voters) decide(who, id string, d client.Decision) (int, string) {
	v.t.Helper()
	d.Digest = v.detail("alice", id).Approval.Digest
	body, err := json.Marshal(d)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(v.t, http.MethodPost, "/api/v1/approvals/"+id+"/decision", string(body), v.header(who)...)
}

// want is a decision that is answered with a status, and a text.
func (v *voters) want(who, id string, verb client.DecisionType, status int, texts ...string) {
	v.t.Helper()
	got, said := v.decide(who, id, client.Decision{Decision: verb})
	for _, text := range texts {
		if !strings.Contains(said, text) {
			v.t.Errorf("%s %ss: %s; want %q", who, verb, said, text)
		}
	}
	if got != status {
		v.t.Fatalf("%s %ss: %d %s, want %d", who, verb, got, said, status)
	}
}

// state returns the state of a task as alice sees it.
func (v *voters) state(task string) string {
	v.t.Helper()
	_, text := v.do(v.t, http.MethodGet, "/tasks/"+task, "", v.header("alice")...)
	var got taskAnswer
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		v.t.Fatal(err)
	}
	return got.Status.State
}

const waits = "TASK_STATE_INPUT_REQUIRED"

// Two people approve a call over the API and over A2A, and only then it runs. No login of one of them
// counts twice.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{alice: ["key:alice", "acme/key:alice2"], bob: ["key:bob", "key:bob2", "proxy:bob"], carl: ["key:carl"]}`, `[{tool: transfer_money, people: 2}]`)
	task := v.ask("m1")
	id := task + ".a1"
	v.want("bob", id, client.Approve, http.StatusAccepted, `"have":1`, `"need":2`, `"missing":"1 more"`)
	v.want("bob", id, client.Approve, http.StatusAccepted, `"already":true`, `"have":1`)
	v.want("bob2", id, client.Approve, http.StatusAccepted, `"already":true`, `"have":1`)
	v.want("proxy:bob", id, client.Approve, http.StatusAccepted, `"already":true`, `"have":1`)
	v.want("proxy:dora", id, client.Approve, http.StatusForbidden, "auth.people", "key:bob")
	if d := v.detail("bob2", id); !d.May.Voted || !d.May.Decide || len(d.Approval.Votes.Given) != 1 || d.Approval.Votes.Given[0].By.Person != "bob" {
		t.Errorf("bob's second login sees %+v, %+v", d.May, d.Approval.Votes)
	}
	if got := v.state(task); got != waits {
		t.Fatalf("after one vote the task is %s", got)
	}
	_, read := v.do(t, http.MethodGet, "/tasks/"+task, "", v.header("alice")...)
	for _, want := range []string{`Votes: 1 of 2: key:bob; missing: 1 more`, `"votes":{"have":1,"missing":"1 more","need":2}`} {
		if !strings.Contains(read, want) {
			t.Errorf("the client does not read %s in %s", want, read)
		}
	}
	got, said := v.sendAs(t, approve("m2", task, id), v.header("alice")...) // the requester may vote, too
	if got.Status.State != "TASK_STATE_COMPLETED" {
		t.Fatalf("after two votes: %s", said)
	}
	v.want("bob", id, client.Approve, http.StatusOK, `"already":true`)

	task = v.ask("m3")
	v.want("bob", task+".a1", client.Approve, http.StatusAccepted)
	v.want("bob2", task+".a1", client.Reject, http.StatusOK, `"state":"rejected"`)
}

// Under four eyes no other login of the requester decides, nor one of which nobody says whose it is.
func TestPeopleUnderFourEyes(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{alice: ["key:alice", "acme/key:alice2"], carl: ["proxy:carl"]}`, `[{tool: transfer_money, four_eyes: true, human: true}]`)
	id := v.ask("m1") + ".a1"
	v.want("alice2", id, client.Approve, http.StatusForbidden, "requester")
	v.want("proxy:dora", id, client.Approve, http.StatusForbidden, "auth.people")
	v.want("ci", id, client.Approve, http.StatusForbidden)
	v.want("proxy:carl", id, client.Approve, http.StatusOK)
}

// A key that names a person whom nobody has ever seen is not another person than its holder's login: it
// decides nothing under four eyes, and gives no vote, until that person has signed in.
func TestKeyOfNobody(t *testing.T) {
	t.Parallel()
	for name, gate := range map[string]string{"four eyes": "four_eyes: true", "votes": "people: 2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := withVoters(t, `{}`, `[{tool: transfer_money, `+gate+`}]`)
			file := filepath.Join(t.TempDir(), "keys.yaml")
			v.keys["alice"] = newKey(t, file, apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleRequester}})
			v.keys["bob"] = newKey(t, file, apikey.Key{ID: "bob", Person: "proxy:bob", Tenant: "acme", Roles: []string{auth.RoleApprover}})
			config, _ := configured(t, fmt.Sprintf(`
auth:
  keys: {file: %q}
  proxy: {header: X-User, from: [127.0.0.1], tenant: acme, roles: [approver, requester]}
gates: [{tool: transfer_money, %s}]
`, file, gate))
			v.instance = start(t, config)
			const login = "proxy:4711" // bob's, as the proxy names him
			got, said := v.sendAs(t, message("m1", "/transfer_money amount=1 to=x"), v.header(login)...)
			if got.ID == "" {
				t.Fatal(said)
			}
			id := got.ID + ".a1"
			approve := func(who string) (int, string) {
				body := fmt.Sprintf(`{"decision":"approve","digest":%q}`, v.detail(login, id).Approval.Digest)
				return v.do(t, http.MethodPost, "/api/v1/approvals/"+id+"/decision", body, v.header(who)...)
			}
			if status, said := approve("bob"); status != http.StatusForbidden || !strings.Contains(said, "nobody has been seen as") {
				t.Errorf("the key of nobody approves: %d %s", status, said)
			}
			v.do(t, http.MethodGet, "/api/v1/approvals", "", v.header("proxy:bob")...)
			if status, said := approve("bob"); status != http.StatusForbidden {
				t.Errorf("the key of a person who has only read: %d %s", status, said)
			}
			if got, said := v.sendAs(t, message("m2", "/echo text=x"), v.header("proxy:bob")...); got.ID == "" {
				t.Fatal(said)
			}
			if status, said := approve("bob"); status != http.StatusOK && status != http.StatusAccepted {
				t.Errorf("the key of a person who has been seen: %d %s", status, said)
			}
		})
	}
}

// The key of somebody who has a login is no second person, however login and key name them: in another case,
// or by a login whose person another provider names, too.
func TestKeyIsNoSecondPerson(t *testing.T) {
	t.Parallel()
	corp, partner := newTokenProvider(t), newTokenProvider(t)
	bearer := func(p *tokenProvider, subject string) []string {
		return []string{"Authorization", "Bearer " + token("k1", p.claims("acme", subject, "x", map[string]any{"employee": "bob@example.com"}))}
	}
	for name, tc := range map[string]struct {
		person string   // of the key
		login  []string // of the same person, who requests or votes
		seen   []string // another login of theirs; nil: none
	}{
		"in another case": {"proxy:bob@example.com", []string{"X-User", "Bob@Example.com"}, nil},
		"in auth.people":  {"proxy:rob", []string{"X-User", "Robert"}, []string{"X-User", "Rob"}},
		"at two issuers":  {"corp:b1", bearer(partner, "b2"), bearer(corp, "b1")},
	} {
		for _, gate := range []string{"four_eyes: true", "people: 2"} {
			t.Run(name+", "+gate, func(t *testing.T) {
				t.Parallel()
				v := &voters{t: t, keys: map[string]string{}}
				file := filepath.Join(t.TempDir(), "keys.yaml")
				v.keys["bob"] = newKey(t, file, apikey.Key{ID: "bob", Person: tc.person, Tenant: "acme", Roles: []string{auth.RoleApprover}})
				config, _ := configured(t, fmt.Sprintf(`
auth:
  tenant: acme
  keys: {file: %q}
  proxy: {header: X-User, from: [127.0.0.1], tenant: acme, roles: [approver, requester]}
  people: {robert: ["proxy:rob", "proxy:robert"]}
  oidc:
    - {name: corp, issuer: %q, audiences: [a2a], networks: [127.0.0.1], person: employee, roles: [approver, requester]}
    - {name: partner, issuer: %q, audiences: [a2a], networks: [127.0.0.1], person: employee, roles: [approver, requester]}
gates: [{tool: transfer_money, %s}]
`, file, corp.URL, partner.URL, gate))
				v.instance = start(t, config)
				if tc.seen != nil {
					if got, said := v.sendAs(t, message("m0", "/echo text=x"), tc.seen...); got.ID == "" {
						t.Fatal(said)
					}
				}
				got, said := v.sendAs(t, message("m1", "/transfer_money amount=1 to=x"), tc.login...)
				if got.ID == "" {
					t.Fatal(said)
				}
				path := "/api/v1/approvals/" + got.ID + ".a1"
				approve := func(header []string) int {
					_, text := v.do(t, http.MethodGet, path, "", tc.login...)
					var d client.ApprovalDetail
					if err := json.Unmarshal([]byte(text), &d); err != nil {
						t.Fatal(err, text)
					}
					status, _ := v.do(t, http.MethodPost, path+"/decision", fmt.Sprintf(`{"decision":"approve","digest":%q}`, d.Approval.Digest), header...)
					return status
				}
				if strings.HasPrefix(gate, "people") && approve(tc.login) != http.StatusAccepted {
					t.Fatal("the login has no vote")
				}
				if status := approve(v.header("bob")); status == http.StatusOK {
					t.Error("the call runs with two logins of one person")
				}
			})
		}
	}
}

// What a key does after it was replaced in its file, and before the server has read that, does not count
// once the server has.
func TestKeyThatWasReplaced(t *testing.T) {
	t.Parallel()
	v := &voters{t: t, keys: map[string]string{}}
	file := filepath.Join(t.TempDir(), "keys.yaml")
	v.keys["alice"] = newKey(t, file, apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleRequester}})
	for _, id := range []string{"bob", "carl"} {
		v.keys[id] = newKey(t, file, apikey.Key{ID: id, Tenant: "acme", Roles: []string{auth.RoleApprover}})
	}
	config, _ := configured(t, fmt.Sprintf(`
auth: {keys: {file: %q}}
gates: [{tool: echo, grants: {scopes: [time], max: 240h}}, {tool: transfer_money, people: 2}]
`, file))
	v.instance = start(t, config)
	asked, said := v.sendAs(t, message("m1", "/echo text=x"), v.header("alice")...)
	if asked.Status.State != waits {
		t.Fatal(said)
	}
	votes := v.ask("m2") + ".a1"
	if _, err := apikey.Add(file, apikey.Key{ID: "bob", Tenant: "acme", Roles: []string{auth.RoleApprover}, Created: time.Now()}, true); err != nil {
		t.Fatal(err)
	}
	if status, said := v.decide("bob", asked.ID+".a1", client.Decision{Decision: client.Approve, Grant: &client.GrantRequest{Scope: string(approval.GrantTime)}}); status != http.StatusOK {
		t.Fatalf("the old key: %d %s", status, said)
	}
	v.want("bob", votes, client.Approve, http.StatusAccepted)
	for _, path := range []string{"/api/v1/approvals/" + votes, "/api/v1/grants", "/api/v1/audit"} {
		if _, text := v.do(t, http.MethodGet, path, "", v.header("carl")...); strings.Contains(text, apikey.Mark(v.keys["bob"])) || !strings.Contains(text, "key:bob") {
			t.Errorf("%s shows the mark of a key, or not its subject: %s", path, text)
		}
	}
	if err := v.server.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, said := v.decide("carl", votes, client.Decision{Decision: client.Approve}); status == http.StatusOK {
		t.Errorf("the vote of the old key counts: %s", said)
	}
	if got, said := v.sendAs(t, message("m3", "/echo text=x"), v.header("alice")...); got.Status.State != waits || !strings.Contains(said, "their API key was revoked, replaced") {
		t.Errorf("the grant of the old key covers a call: %s", said)
	}
}

// One of finance and one of legal: the gates of a call that both ask.
func TestPeopleOfTwoGates(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{}`, `[{tool: transfer_money, name: money, approvers: {roles: [finance]}}, {tool: "*", name: law, approvers: {roles: [legal]}}]`)
	task := v.ask("m1")
	id := task + ".a1"
	v.want("bob2", id, client.Approve, http.StatusForbidden)
	v.want("bob", id, client.Approve, http.StatusAccepted, `"missing":"1 of role legal"`)
	edited, said := v.decide("carl", id, client.Decision{Decision: client.Edit, Arguments: json.RawMessage(`{"amount":2,"to":"x"}`)})
	if edited != http.StatusAccepted {
		t.Fatalf("the edit: %d %s", edited, said)
	}
	v.want("bob", id, client.Approve, http.StatusPreconditionFailed)
	v.want("carl", task+".a2", client.Approve, http.StatusAccepted, `"already":true`, `"missing":"1 of role finance"`)
	v.want("bob", task+".a2", client.Approve, http.StatusOK, `"state":"approved"`)
	until(t, "the end of the task", func() bool { return v.state(task) == "TASK_STATE_COMPLETED" })
}

// Of 200 votes at once exactly two count, and the call runs once.
func TestVotesAtOnce(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{}`, `[{tool: transfer_money, people: 2}]`)
	task := v.ask("m1")
	id := task + ".a1"
	digest := v.detail("bob", id).Approval.Digest
	body := fmt.Sprintf(`{"decision":"approve","digest":%q}`, digest)
	var wait sync.WaitGroup
	for i := range 200 {
		who := []string{"bob", "bob2", "carl", "alice2"}[i%4]
		wait.Go(func() {
			if status, said := v.do(t, http.MethodPost, "/api/v1/approvals/"+id+"/decision", body, v.header(who)...); status != http.StatusOK && status != http.StatusAccepted {
				t.Errorf("%s: %d %s", who, status, said)
			}
		})
	}
	wait.Wait()
	until(t, "the end of the task", func() bool { return v.state(task) == "TASK_STATE_COMPLETED" })
	d := v.detail("bob", id)
	if n := len(d.Approval.Votes.Given); n != 2 || d.Run.Attempt != 1 {
		t.Errorf("%d votes count, and it ran %d times", n, d.Run.Attempt)
	}
	_, audit := v.do(t, http.MethodGet, "/api/v1/audit?limit=1000", "", v.header("bob")...)
	if n := strings.Count(audit, `"what":"voted"`); n != 2 {
		t.Errorf("the audit has %d votes: %s", n, audit)
	}
}

// A vote counts with the roles that its sender has when it is committed, and stays if they are
// withdrawn later.
func TestVoteOfARevokedRole(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{}`, `[{tool: transfer_money, name: money, people: 2, approvers: {roles: [finance]}}]`)
	task := v.ask("m1")
	answer := approval.Decision{ID: task + ".a1", Type: approval.Approve}
	member := func(name string, roles ...string) auth.Principal {
		return auth.Principal{Tenant: "acme", Subject: "key:" + name, Roles: append(roles, auth.RoleApprover), Method: "api_key", Mark: apikey.Mark(v.keys[name])}
	}
	votes := func(by, now auth.Principal) error {
		all := v.server.Approvals().Renewing(func(context.Context) (auth.Principal, error) { return now, nil })
		return all.Decide(t.Context(), by, answer)
	}
	refused := func(err error) bool {
		e := (*approval.Error)(nil)
		return errors.As(err, &e) && e.Barred == approval.BarredApprovers
	}
	given := func() int {
		a, err := v.server.Approvals().Get(t.Context(), member("bob"), answer.ID)
		if err != nil {
			t.Fatal(err)
		}
		return len(a.Votes)
	}
	if err := votes(member("bob", "finance"), member("bob")); !refused(err) || given() != 0 {
		t.Errorf("a vote whose role goes before its commit: %v, %d votes", err, given())
	}
	if err := votes(member("bob", "finance"), member("bob", "finance")); err != nil || given() != 1 {
		t.Fatalf("a vote: %v, %d votes", err, given())
	}
	// Bob is of finance no longer; his vote was.
	if err := votes(member("carl", "finance"), member("carl", "finance")); err != nil || given() != 2 {
		t.Fatalf("the last vote: %v, %d votes", err, given())
	}
	until(t, "the end of the task", func() bool { return v.state(task) == "TASK_STATE_COMPLETED" })
}

// Votes, edits and the deadline at once: the call runs at most once, with the arguments that two
// people have approved, and never after its deadline.
func TestVotesEditsAndDeadlineAtOnce(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{}`, `[{tool: transfer_money, people: 2, expires: 40ms}]`)
	people := []string{"bob", "bob2", "carl", "alice2"}
	for round := range 12 {
		task := v.ask(fmt.Sprint("m", round))
		id := task + ".a1"
		digest := v.detail("bob", id).Approval.Digest
		var wait sync.WaitGroup
		for i := range 12 {
			body := fmt.Sprintf(`{"decision":"approve","digest":%q}`, digest)
			if (i+round)%4 == 0 {
				body = fmt.Sprintf(`{"decision":"edit","digest":%q,"arguments":{"amount":%d,"to":"y"}}`, digest, i+2)
			}
			wait.Go(func() {
				v.do(t, http.MethodPost, "/api/v1/approvals/"+id+"/decision", body, v.header(people[i%len(people)])...)
			})
		}
		wait.Wait()
		until(t, "the end of the task", func() bool {
			return v.state(task) != waits && v.state(task) != "TASK_STATE_WORKING"
		})
		var d client.TaskDetail
		_, text := v.do(t, http.MethodGet, "/api/v1/tasks/"+task, "", v.header("alice")...)
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		ran := d.Calls[0].Attempt > 0
		var approved *client.Approval
		for i := range d.Approvals {
			if a := &d.Approvals[i]; a.State == client.Approved || a.State == client.Edited {
				approved = a
			}
		}
		if ran != (approved != nil) || d.Calls[0].Attempt > 1 {
			t.Fatalf("it ran %d times: %s", d.Calls[0].Attempt, text)
		}
		if ran && (approved.Votes.Missing != "" || len(approved.Votes.Given) != 2 || string(approved.Arguments) != string(d.Calls[0].Arguments) || approved.Resolution.At.After(*approved.Deadline)) {
			t.Fatalf("it ran with %+v: %s", approved.Votes, text)
		}
	}
}

// The operator says that two keys are of one person while a call waits: that person decides once.
func TestPersonsWhoAreNamedLater(t *testing.T) {
	t.Parallel()
	const named = `{alice: ["key:alice", "key:alice2"], bob: ["key:bob", "key:bob2"]}`
	for name, tc := range map[string]struct {
		gate   string
		before map[string]int // votes before, by key, with their status
		by     string         // who approves then
		status int
	}{
		"the requester":  {"four_eyes: true", nil, "alice2", http.StatusForbidden},
		"somebody else":  {"four_eyes: true", nil, "bob", http.StatusOK},
		"has voted":      {"people: 2", map[string]int{"bob": http.StatusAccepted}, "bob2", http.StatusForbidden},
		"another votes":  {"people: 2", map[string]int{"bob": http.StatusAccepted}, "carl", http.StatusOK},
		"both had voted": {"people: 3", map[string]int{"bob": http.StatusAccepted, "bob2": http.StatusAccepted}, "carl", http.StatusAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := withVoters(t, "{}", "[{tool: transfer_money, "+tc.gate+"}]")
			task := v.ask("m1")
			for key, status := range tc.before {
				v.want(key, task+".a1", client.Approve, status)
			}
			v.name(named)
			v.want(tc.by, task+".a1", client.Approve, tc.status)
		})
	}
}

// name restarts the server with other people.
func (v *voters) name(people string) {
	v.t.Helper()
	v.halt(v.t)
	text, err := os.ReadFile(v.config.File)
	if err != nil {
		v.t.Fatal(err)
	}
	rewrite(v.t, v.config.File, strings.Replace(string(text), "people: {}", "people: "+people, 1))
	v.instance = startHooked(v.t, v.config, nil)
	v.t.Cleanup(func() { v.halt(v.t) })
}
