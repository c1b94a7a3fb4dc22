package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
	"a2a-server/store/memstore"
)

const completed = a2a.TaskStateCompleted

func taskID(a client.Approval) a2a.TaskID { return a2a.TaskID(a.Task) }

func (w *world) state(id string) client.State {
	w.t.Helper()
	return into[client.ApprovalDetail](w.get(olga, "/approvals/"+id).want(200)).Approval.State
}

// A deadline moves to a later time only. The A2A client is shown the new one, the audit says who
// moved it, and the approval expires then, also after a restart.
func TestExtension(t *testing.T) {
	t.Parallel()
	db := memstore.New()
	world := func() *world {
		h, err := db.Handle()
		if err != nil {
			t.Fatal(err)
		}
		return newWorld(t, func(c *testserver.Config) { c.Store = h })
	}
	w := world()
	one := w.ask(alice, "/pay amount=5")[0]
	path := "/approvals/" + one.ID + "/extension"
	until := one.Deadline.Add(2 * time.Hour)
	x := client.Extension{Digest: one.Digest, Until: until}

	w.post(mallory, path, x).problem(404, client.ReasonNotFound)
	w.post(vera, path, x).problem(403, client.ReasonRole)
	w.post(olga, path, client.Extension{Digest: "other", Until: until}).problem(412, client.ReasonChanged)
	w.post(olga, path, map[string]any{"until": until}).problem(400, client.ReasonInvalid)
	for _, wrong := range []time.Time{*one.Deadline, one.Deadline.Add(-time.Minute), {}, w.Now().Add(90*24*time.Hour + time.Second)} {
		if e := w.post(olga, path, client.Extension{Digest: one.Digest, Until: wrong}).problem(400, client.ReasonInvalid); len(e.Fields) != 1 || e.Fields[0].Field != "until" {
			t.Errorf("until %s: %+v", wrong, e)
		}
	}
	large := w.ask(alice, "/pay amount=1001")[0]
	w.post(alice, "/approvals/"+large.ID+"/extension", client.Extension{Digest: "other", Until: until}).problem(403, client.ReasonNotAllowed)
	w.post(alice, "/approvals/"+large.ID+"/extension", client.Extension{Digest: large.Digest, Until: until}).problem(403, client.ReasonNotAllowed)

	got := into[client.Decided](w.post(olga, path, x).want(200))
	if !got.Approval.Deadline.Equal(until) || got.Approval.State != client.Pending || got.Approval.Digest != one.Digest {
		t.Errorf("extended: %+v", got.Approval)
	}
	said, err := json.Marshal(w.As(alice).Get(taskID(one)).Status)
	if err != nil || !strings.Contains(string(said), until.UTC().Format("2006-01-02T15:04:05")) || strings.Contains(string(said), one.Deadline.UTC().Format("2006-01-02T15:04:05")) {
		t.Errorf("the question has not the deadline %s alone, %v: %s", until, err, said)
	}
	var audited *client.AuditEntry
	for _, e := range into[client.AuditPage](w.get(vera, "/audit?limit=1000").want(200)).Items {
		if e.What == "extended" {
			audited = &e
		}
	}
	if audited == nil || audited.Approval != one.ID || audited.By.Subject != "olga" || !audited.Deadline.Equal(until) {
		t.Errorf("the audit says %+v", audited)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = world()
	w.Advance(2 * time.Hour) // after the first deadline
	w.poll("the other approval", func() bool { return w.state(large.ID) == client.Expired })
	if s := w.state(one.ID); s != client.Pending {
		t.Fatalf("the extended approval is %s after the first deadline", s)
	}
	w.Advance(time.Hour + time.Minute)
	w.poll("the new deadline", func() bool { return w.state(one.ID) == client.Expired })
	w.post(olga, path, x).problem(410, client.ReasonExpired)
	done := w.ask(alice, "/ship amount=5")[0]
	w.post(olga, decisionOf(done), approve(done)).want(200)
	w.post(olga, "/approvals/"+done.ID+"/extension", client.Extension{Digest: done.Digest, Until: done.Deadline.Add(time.Hour)}).problem(409, client.ReasonConflict)
}

// An approval may be extended often, and has one deadline: the newest.
func TestExtensionOften(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/ship amount=5")[0]
	for n := range 5 {
		until := one.Deadline.Add(time.Duration(n+1) * time.Hour)
		w.post(olga, "/approvals/"+one.ID+"/extension", client.Extension{Digest: one.Digest, Until: until}).want(200)
	}
	for range 6 {
		w.Advance(time.Hour)
		if s := w.state(one.ID); s != client.Pending {
			t.Fatalf("%s at %s, want pending until %s", s, w.Now(), one.Deadline.Add(5*time.Hour))
		}
	}
	w.Advance(time.Hour + time.Second)
	w.poll(fmt.Sprint("the last deadline of ", one.ID), func() bool { return w.state(one.ID) == client.Expired })
}

// A client that has the approval as it is gets 304, whatever else it has, until anything in it changes.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/pay amount=5 iban=DE1")[0]
	get := func(by auth.Principal, tag string) answer {
		r := w.request(by, "GET", "/approvals/"+one.ID, nil)
		r.Header.Set("If-None-Match", tag)
		return w.do(r)
	}
	tag := get(olga, "").want(200).header.Get("ETag")
	if again := get(olga, `"other", `+tag).want(304); len(again.raw) > 0 || again.header.Get("ETag") != tag {
		t.Errorf("304 has the ETag %s and %q, want %s and no body", again.header.Get("ETag"), again.raw, tag)
	}
	if other := get(vera, tag).want(200); other.header.Get("ETag") == tag {
		t.Error("the approval with masked arguments has the same ETag")
	}
	get(mallory, "*").want(404)
	w.post(olga, "/approvals/"+one.ID+"/extension", client.Extension{Digest: one.Digest, Until: one.Deadline.Add(time.Hour)}).want(200)
	extended := get(olga, tag).want(200).header.Get("ETag")
	get(olga, extended).want(304)
	w.post(olga, decisionOf(one), approve(one)).want(200)
	get(olga, extended).want(200)
}
