package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
	"a2a-server/store"
	"a2a-server/store/memstore"
)

// frame is one event of a stream.
type frame struct{ id, name, data string }

func (f frame) entry(t testing.TB) (e client.AuditEntry) {
	t.Helper()
	if err := json.Unmarshal([]byte(f.data), &e); err != nil {
		t.Fatalf("%v: %+v", err, f)
	}
	return e
}

// stream is an open stream, whose response has begun.
type stream struct {
	t      testing.TB
	frames chan frame // closed at its end
	stop   func()
}

func (w *world) follow(by auth.Principal, path, last string) *stream {
	w.t.Helper()
	r := w.request(by, http.MethodGet, path, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	own := &http.Transport{ResponseHeaderTimeout: patience}
	resp, err := (&http.Client{Transport: own}).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s of %s: %s", path, by.Subject, resp.Status)
	}
	s := &stream{t: w.t, frames: make(chan frame, 10_000)}
	var ended sync.WaitGroup
	ended.Go(func() {
		defer close(s.frames)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		var one frame
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				one.id = value
			case "event":
				one.name = value
			case "data":
				one.data += value
			case "":
				if one != (frame{}) {
					s.frames <- one
				}
				one = frame{}
			}
		}
	})
	s.stop = sync.OnceFunc(func() {
		_ = resp.Body.Close()
		ended.Wait()
		own.CloseIdleConnections()
	})
	w.t.Cleanup(s.stop)
	return s
}

func (s *stream) next() frame {
	s.t.Helper()
	select {
	case f, ok := <-s.frames:
		if !ok {
			s.t.Fatal("the stream has ended")
		}
		return f
	case <-time.After(patience):
		s.t.Fatal("no event comes")
	}
	return frame{}
}

// until reads entries up to the one that ok accepts.
func (s *stream) until(ok func(client.AuditEntry) bool) (all []client.AuditEntry) {
	s.t.Helper()
	for {
		all = append(all, s.next().entry(s.t))
		if ok(all[len(all)-1]) {
			return all
		}
	}
}

// A follower gets what becomes durable, once and in order; with Last-Event-ID it gets what came
// since, and with an id of another store, or of no place, a reset.
func TestFeedReplays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.follow(vera, "/events", "")
	begin := first.next()
	if begin.name != "begin" || begin.id == "" || begin.data != "{}" {
		t.Fatalf("the first event is %+v", begin)
	}
	one := w.ask(alice, "/ship amount=1")[0]
	w.post(olga, decisionOf(one), approve(one)).want(200)
	var live []frame
	for len(live) == 0 || live[len(live)-1].entry(t).What != "finished" {
		live = append(live, first.next())
	}
	audit := into[client.AuditPage](w.get(vera, "/audit?limit=1000").want(200)).Items
	if len(audit) != len(live) {
		t.Errorf("the feed has %d entries, the audit %d", len(live), len(audit))
	}
	for i, f := range live {
		want, err := json.Marshal(audit[i])
		if err != nil || f.data != string(want) || f.name != "" {
			t.Errorf("the feed has %+v, the audit %s (%v)", f, want, err)
		}
		again := w.follow(vera, "/events", f.id)
		for _, more := range live[i+1:] {
			if got := again.next(); got != more {
				t.Errorf("after %s comes %+v, want %+v", f.id, got, more)
			}
		}
		again.stop()
	}
	if replay := w.follow(vera, "/events", begin.id); replay.next() != live[0] {
		t.Error("the replay does not begin where the feed did")
	}
	for _, id := range []string{"dead-1", "nonsense", begin.id + "9999", strings.Repeat("1", 500)} {
		s := w.follow(vera, "/events", id)
		if f := s.next(); f.name != "reset" || f.id != live[len(live)-1].id {
			t.Errorf("after %.20q comes %+v, want a reset to %s", id, f, live[len(live)-1].id)
		}
	}
	// A follower that is up to date is answered before anything happens.
	at := w.follow(vera, "/events", live[len(live)-1].id)
	two := w.ask(alice, "/ship amount=2")[0]
	if e := at.next().entry(t); e.Approval != two.ID || e.What != "asked" {
		t.Errorf("next comes %+v", e)
	}
}

// Nobody is sent an entry of a task that they may not read, unless they may review the approval
// that it is about; those of older servers are for admins.
func TestFeedIsFiltered(t *testing.T) {
	t.Parallel()
	db := memstore.New()
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *testserver.Config) { c.Store = h })
	bob := member("bob", auth.RoleRequester)
	var all []*stream
	foreigner := member("mallory", auth.RoleRequester, auth.RoleViewer, auth.RoleApprover, auth.RoleOperator)
	foreigner.Tenant = "evil"
	everybody := []auth.Principal{alice, bob, vera, pete, olga, root, foreigner}
	for _, by := range everybody {
		s := w.follow(by, "/events", "")
		s.next()
		all = append(all, s)
	}
	w.get(member("nothing"), "/events").problem(403, client.ReasonRole)
	w.get(nobody, "/events").problem(401, client.ReasonUnauthenticated)

	one, other := w.ask(alice, "/ship amount=1")[0], w.ask(bob, "/ship amount=2")[0]
	w.post(olga, decisionOf(one), approve(one)).want(200)
	w.As(alice).Wait(taskID(one), completed)
	w.post(olga, decisionOf(other), approve(other)).want(200)
	w.As(bob).Wait(taskID(other), completed)
	unowned := `{"v":1,"at":"2026-03-01T12:00:00Z","what":"asked","task":"t","approval":"t.a1","gate":"big","by":{"tenant":"acme","subject":"alice"}}`
	if _, err := h.Append(t.Context(), &store.Batch{Scope: store.Owner("acme", "alice"), Audit: [][]byte{[]byte(unowned)}}).Wait(); err != nil {
		t.Fatal(err)
	}
	// Everybody has a last entry, which comes after all others.
	foreign := w.ask(foreigner, "/ship amount=3")[0]
	last := map[string]client.Approval{"mallory": foreign, "alice": w.ask(alice, "/ship amount=4")[0], "bob": w.ask(bob, "/ship amount=5")[0]}
	last["vera"], last["pete"], last["olga"] = last["bob"], last["bob"], last["bob"]
	for i, by := range everybody {
		seen := map[string]int{}
		if by.Subject == "root" {
			if e := all[i].next().entry(t); e.Task != "t" || e.Gate != "big" {
				t.Errorf("root gets %+v", e)
			}
		} else {
			for _, e := range all[i].until(func(e client.AuditEntry) bool { return e.Approval == last[by.Subject].ID && e.What == "asked" }) {
				seen[e.Tenant+"/"+e.Owner]++
				if e.Task == "t" {
					t.Errorf("%s gets an entry that does not say whose it is", by.Subject)
				}
				if by.Subject == "olga" && e.Approval == "" {
					t.Errorf("an approver gets %+v, which is about no approval", e)
				}
			}
		}
		var owners []string
		for owner := range seen {
			owners = append(owners, owner)
		}
		slices.Sort(owners)
		want := map[string]string{"alice": "acme/alice", "bob": "acme/bob", "mallory": "evil/mallory", "root": ""}
		expected, one := want[by.Subject]
		if !one {
			expected = "acme/alice acme/bob"
		}
		if got := strings.Join(owners, " "); got != expected {
			t.Errorf("%s gets entries of %s, want %s", by.Subject, got, expected)
		}
		// The audit has the same.
		for _, e := range into[client.AuditPage](w.get(by, "/audit?limit=1000").want(200)).Items {
			if owner := e.Tenant + "/" + e.Owner; by.Subject != "root" && !strings.Contains(expected, owner) || by.Subject == "root" && e.Task != "t" {
				t.Errorf("%s reads %+v", by.Subject, e)
			}
		}
	}
}

// A stream ends with its credential, and with the role that it needs.
func TestFeedEndsWithTheCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.ask(alice, "/ship amount=1")[0].Task
	ends := func(by auth.Principal, path string, change func(subject string)) {
		t.Helper()
		s := w.follow(by, path, "")
		s.next()
		change(by.Subject)
		for ended := false; !ended; {
			select {
			case _, open := <-s.frames:
				ended = !open
			case <-time.After(patience):
				t.Fatalf("the stream of %s continues", by.Subject)
			}
		}
	}
	for _, by := range []auth.Principal{vera, olga, root, alice} {
		path := "/events"
		if by.Subject == "alice" {
			path = "/tasks/" + task + "/events"
		} else {
			ends(by, path, w.demote)
		}
		ends(by, path, w.revoke)
		w.get(by, path).problem(401, client.ReasonUnauthenticated)
	}
}

// Of 500 decisions, a hundred at once, two followers get each exactly once, and in the same order.
func TestFeedOfManyDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const tasks, calls = 50, 10
	var pending []approval.Approval
	as := w.As(alice)
	for range tasks {
		var list []any
		for i := range calls {
			list = append(list, call("ship", float64(i)))
		}
		pending = append(pending, as.Pending(as.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"calls": list}))))...)
	}
	if len(pending) != tasks*calls {
		t.Fatalf("%d approvals", len(pending))
	}
	followers := []*stream{w.follow(vera, "/events", ""), w.follow(olga, "/events", "")}
	for _, s := range followers {
		s.next()
	}
	var got [2][]string
	var last [2]uint64
	for some := range slices.Chunk(pending, 100) { // who does not read for long is cut off
		var all sync.WaitGroup
		for _, a := range some {
			all.Go(func() {
				if err := w.Approvals().Decide(t.Context(), olga, approval.Decision{ID: a.ID, Digest: a.Digest, Type: approval.Reject}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i, s := range followers {
			for read := 0; read < len(some); {
				e := s.next().entry(t)
				if e.N <= last[i] {
					t.Fatalf("entry %d comes after %d", e.N, last[i])
				}
				if last[i] = e.N; e.What == "resolved" {
					got[i], read = append(got[i], e.Approval), read+1
				}
			}
		}
	}
	if !slices.Equal(got[0], got[1]) {
		t.Error("two followers get different things")
	}
	slices.Sort(got[0])
	if unique := slices.Compact(got[0]); len(unique) != len(pending) {
		t.Errorf("%d of %d decisions", len(unique), len(pending))
	}
}

// The events of a task are those of A2A, and continue where their reader was.
func TestTaskEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/ship amount=1")[0]
	path := "/tasks/" + one.Task + "/events"
	w.get(mallory, path).problem(404, client.ReasonNotFound)
	w.get(olga, path).problem(403, client.ReasonRole)
	w.get(vera, "/tasks/none/events").problem(404, client.ReasonNotFound)
	s := w.follow(vera, path, "")
	var all []frame
	for len(all) == 0 || !strings.Contains(all[len(all)-1].data, "INPUT_REQUIRED") {
		all = append(all, s.next())
	}
	resting := w.follow(vera, path, all[len(all)-1].id) // it is answered while nothing happens
	w.post(olga, decisionOf(one), approve(one)).want(200)
	for f := range s.frames {
		all = append(all, f)
	}
	if end := all[len(all)-1]; !strings.Contains(end.data, "COMPLETED") {
		t.Errorf("the last event is %+v", end)
	}
	again := w.follow(vera, path, all[0].id)
	for i, f := range all[1:] {
		if got := again.next(); got != f {
			t.Errorf("event %d is %+v, want %+v", i, got, f)
		}
	}
	if f := resting.next(); !slices.Contains(all, f) {
		t.Errorf("the stream that waited gets %+v", f)
	}
	if from := w.follow(vera, path, fmt.Sprint(all[1].id, "x")); from.next() != all[0] {
		t.Error("an id of something else is taken for a position")
	}
	head := w.do(w.request(vera, http.MethodHead, path, nil))
	if head.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD of a stream: %d", head.status)
	}
}
