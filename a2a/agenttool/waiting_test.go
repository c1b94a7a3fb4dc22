package agenttool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/tool"
)

// waitingChain starts three servers. The payments of the last are approved outside its conversations,
// within a week, and no call of an agent may take ten seconds.
func waitingChain(t *testing.T) (top, middle, leaf *a2aservertest.Server, paid *ledger) {
	t.Helper()
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "pay", Terms: approval.Terms{
		Elsewhere: true, Expires: 7 * 24 * time.Hour,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	paid = &ledger{}
	leaf = a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}, Policy: policy})
	short := func(c *agenttool.Config) { c.Timeout = 10 * time.Second }
	middle = serve(t, "bank", leaf, short)
	top = serve(t, "shop", middle, short)
	return top, middle, leaf, paid
}

// waitsElsewhere returns the text of a task that works, and says for which decisions elsewhere it waits.
func waitsElsewhere(t *testing.T, task *a2a.Task) string {
	t.Helper()
	if task.Status.State != a2a.TaskStateWorking || len(dialect.ReadWaiting(task.Status.Message)) == 0 {
		t.Fatalf("the task is %v and says %v, want it to wait elsewhere", task.Status.State, task.Status.Message)
	}
	return task.Status.Message.Parts[0].Text()
}

// passes moves the clocks of servers, which look at their agents meanwhile, until something is so.
func passes(t *testing.T, is func() bool, servers ...*a2aservertest.Server) {
	t.Helper()
	for range 2000 {
		if is() {
			return
		}
		<-time.After(20 * time.Millisecond)
		for _, s := range servers {
			s.Advance(time.Second)
		}
	}
	t.Fatal("it never comes")
}

// A decision for which an agent of an agent waits is waited for without a place and without a deadline
// of the calls, and its result comes up the chain.
func TestWaitsElsewhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decision approval.Decision // without a type: nobody decides
		state    a2a.TaskState
		says     string
		paid     string
	}{
		"approve": {approval.Decision{Type: approval.Approve}, a2a.TaskStateCompleted, "paid bob", "[{5 bob}]"},
		"edit":    {approval.Decision{Type: approval.Edit, Args: json.RawMessage(`{"amount":4,"to":"eve"}`)}, a2a.TaskStateCompleted, "paid eve", "[{4 eve}]"},
		"reject":  {approval.Decision{Type: approval.Reject, Reason: "too much"}, a2a.TaskStateFailed, "too much", "[]"},
		"expire":  {approval.Decision{}, a2a.TaskStateFailed, "nobody approved the call in time", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, middle, leaf, paid := waitingChain(t)
			all := []*a2aservertest.Server{leaf, middle, top}
			task := top.Send("/shop /bank /pay amount=5 to=bob")
			text := waitsElsewhere(t, task)
			if !strings.HasPrefix(text, "shop/bank waits for a person elsewhere until ") || !strings.HasSuffix(text, "; the result follows by itself.") {
				t.Errorf("it says %q", text)
			}
			for _, d := range []time.Duration{6 * time.Minute, 25 * time.Hour} {
				for _, s := range all {
					s.Sleep(d)
				}
				for range 3 { // for less than a look may take: at most the looks at the jumps end early
					<-time.After(20 * time.Millisecond)
					for _, s := range all {
						s.Advance(3 * time.Second)
					}
				}
				if got := waitsElsewhere(t, top.Get(task.ID)); got != text {
					t.Errorf("after %v it says %q, want %q as before", d, got, text)
				}
			}
			if tt.decision.Type == "" {
				leaf.Advance(7 * 24 * time.Hour)
			} else {
				id := dialect.ReadWaiting(task.Status.Message)[0].ID
				tt.decision.ID = id[strings.LastIndex(id, "/")+1:]
				if err := leaf.Approvals().Decide(t.Context(), auth.Anonymous(), tt.decision); err != nil {
					t.Fatal(err)
				}
			}
			passes(t, func() bool { return top.Get(task.ID).Status.State.Terminal() }, all...)
			done := top.Wait(task.ID, tt.state)
			if got := top.Text(done) + said(top, done); !strings.Contains(got, tt.says) {
				t.Errorf("it says %q, want %q", got, tt.says)
			}
			if got := fmt.Sprint(paid.all()); got != tt.paid {
				t.Errorf("paid %s, want %s", got, tt.paid)
			}
		})
	}
}

// A canceled task cancels the tasks that wait.
func TestCancelWhileItWaitsElsewhere(t *testing.T) {
	t.Parallel()
	top, _, leaf, paid := waitingChain(t)
	task := top.Send("/shop /bank /pay amount=5 to=bob")
	id := dialect.ReadWaiting(task.Status.Message)[0].ID
	post(t, top.URL, "CancelTask", fmt.Sprintf(`{"id":%q}`, task.ID))
	id = id[strings.LastIndex(id, "/")+1:]
	leaf.Wait(a2a.TaskID(id[:strings.LastIndex(id, ".")]), a2a.TaskStateCanceled)
	if n := len(paid.all()); n > 0 {
		t.Errorf("paid %d times", n)
	}
}

// looking is an agent whose only task has a status that tests change.
type looking struct {
	*hostile
	status atomic.Pointer[string] // JSON
	away   atomic.Bool
	looks  atomic.Int64
}

const (
	childWorks = `{"state": "TASK_STATE_WORKING"}`
	childDone  = `{"state": "TASK_STATE_COMPLETED", "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "it is done"}]}}`
)

// childWaits is the status of a child that waits until a time; "" for ever.
func childWaits(until string) string {
	expires := ""
	if until != "" {
		expires = fmt.Sprintf(`, "expires": %q`, until)
	}
	return fmt.Sprintf(`{"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}], "metadata": {%q:
		{"type": "approval_request", "approvals": [], "elsewhere": [{"id": "w\"1", "since": "2026-01-01T00:00:00Z", "waitsFor": "fin\u202eance"%s}]}}}}`, dialect.URI, expires)
}

// newLooking starts an agent, and a server that calls it for at most ten seconds.
func newLooking(t *testing.T, status string) (*looking, *a2aservertest.Server) {
	t.Helper()
	l := &looking{hostile: newHostile(t)}
	l.status.Store(&status)
	end := make(chan bool)
	t.Cleanup(func() { close(end) })
	l.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.away.Load() {
			http.Error(w, "restarting", http.StatusServiceUnavailable)
			return
		}
		l.ServeHTTP(w, r)
	})
	l.answer = func(method string, _ map[string]any) []string {
		now := fmt.Sprintf(`{"id": "t1", "contextId": "c", "status": %s}`, *l.status.Load())
		switch method {
		case "SubscribeToTask":
			if *l.status.Load() == childWorks {
				<-end
			}
		case "GetTask":
			l.looks.Add(1)
			return []string{now}
		}
		return []string{`{"task": ` + now + `}`}
	}
	return l, ours(t, l.URL, func(c *agenttool.Config) { c.Timeout = 10 * time.Second })
}

func (l *looking) says(status string) { l.status.Store(&status) }

// looked waits for more looks at the agent. The clock moves little while one may be under way.
func (l *looking) looked(t *testing.T, s *a2aservertest.Server) {
	t.Helper()
	for range 3 {
		before := l.looks.Load()
		for n := 0; l.looks.Load() == before; n++ {
			if n == 2000 {
				t.Fatal("nobody looks")
			}
			if n%50 == 0 {
				s.Advance(4 * time.Second)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}

// A child that works when the call's time is over is looked at for a day, and its end is here soon; then
// a person is asked whether it has run.
func TestWorksLongerThanTheCall(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"it ends": true, "it never ends": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := newLooking(t, childWorks)
			id := begin(t, s, "/it hello")
			l.looked(t, s)
			s.Sleep(23 * time.Hour)
			l.looked(t, s)
			now := s.Get(id)
			if now.Status.State != a2a.TaskStateWorking || len(s.Pending(now)) > 0 {
				t.Fatalf("within a day the task is %v, and asks %+v", now.Status.State, s.Pending(now))
			}
			if ends {
				l.says(childDone)
				passes(t, func() bool { return s.Get(id).Status.State == a2a.TaskStateCompleted }, s)
				return
			}
			s.Advance(time.Hour)
			passes(t, func() bool { return s.Get(id).Status.State == a2a.TaskStateInputRequired }, s)
			if asked := s.Pending(s.Get(id)); len(asked) != 1 || asked[0].Kind != approval.KindOutcome {
				t.Errorf("it asks %+v, want whether it has run", asked)
			}
			l.says(childDone)
			decide(t, s, s.Get(id), approval.Decision{Type: approval.Approve}) // look again
			passes(t, func() bool { return s.Get(id).Status.State == a2a.TaskStateCompleted }, s)
			if n := l.asked.Load(); n != 1 {
				t.Errorf("the agent got %d messages", n)
			}
		})
	}
}

// An agent that is away while its task waits changes nothing: its status neither within a minute, nor the
// wait. It is away for a day before a person is asked.
func TestAwayWhileItWaitsElsewhere(t *testing.T) {
	t.Parallel()
	l, s := newLooking(t, childWaits(""))
	task := s.Send("/it hello")
	text := waitsElsewhere(t, task)
	if text != `it waits for fin\u202eance; the result follows by itself.` {
		t.Errorf("it says %q", text)
	}
	for _, d := range []time.Duration{30 * time.Second, 100 * time.Second} {
		s.Sleep(30 * 24 * time.Hour)
		l.looked(t, s)
		l.away.Store(true)
		for away := time.Duration(0); away < d; away += time.Second { // slowly: a call that is entered must not run out of time
			s.Advance(time.Second)
			<-time.After(10 * time.Millisecond)
			if away < 50*time.Second && waitsElsewhere(t, s.Get(task.ID)) != text {
				t.Fatalf("after %v it says something else", away)
			}
		}
		l.away.Store(false)
		l.looked(t, s)
		passes(t, func() bool { return len(dialect.ReadWaiting(s.Get(task.ID).Status.Message)) == 1 }, s)
	}
	l.away.Store(true)
	passes(t, func() bool {
		s.Advance(time.Hour)
		return s.Get(task.ID).Status.State == a2a.TaskStateInputRequired
	}, s)
	if asked := s.Pending(s.Get(task.ID)); len(asked) != 1 || asked[0].Kind != approval.KindOutcome {
		t.Errorf("it asks %+v, want whether it has run", asked)
	}
}

// A machine that sleeps in the middle of a look ends the look. The agent is not away for that: the status
// stays, even if it happens twice.
func TestSleepsDuringALook(t *testing.T) {
	t.Parallel()
	l, s := newLooking(t, childWaits(""))
	answers := l.answer
	var waits atomic.Pointer[a2a.Task]
	var asleep atomic.Int64
	l.answer = func(method string, params map[string]any) []string {
		task := waits.Load()
		if task == nil {
			return answers(method, params)
		}
		n := asleep.Add(1)
		if n > 3 { // the test may have ended, and the server with it
			return answers(method, params)
		}
		if len(dialect.ReadWaiting(s.Get(task.ID).Status.Message)) == 0 {
			t.Error("the status has changed")
		}
		if n <= 2 {
			l.looks.Add(1)
			s.Sleep(25 * time.Hour) // a look takes ten seconds at most
			return nil
		}
		return answers(method, params)
	}
	task := s.Send("/it hello")
	waitsElsewhere(t, task)
	waits.Store(task)
	l.looked(t, s)
}

// A decision whose time is over is not waited for: the agent only works.
func TestWaitsNoLongerThanItSays(t *testing.T) {
	t.Parallel()
	l, s := newLooking(t, childWorks)
	l.says(childWaits(s.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	task := s.Send("/it hello")
	waitsElsewhere(t, task)
	s.Advance(2 * time.Hour)
	passes(t, func() bool { return len(dialect.ReadWaiting(s.Get(task.ID).Status.Message)) == 0 }, s)
	passes(t, func() bool {
		s.Advance(time.Hour)
		return s.Get(task.ID).Status.State == a2a.TaskStateInputRequired
	}, s)
}

// A child that says impossible times waits all the same, as does one that comes to say them.
func TestWaitsWithImpossibleTimes(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]string{
		"since after":  `"since": "9999-12-31T23:59:59-23:00"`,
		"since before": `"since": "0000-01-01T00:00:00+23:00"`,
		"expires":      `"since": "2026-01-01T00:00:00Z", "expires": "9999-12-31T23:59:59-23:00"`,
		"no since":     `"agent": "x"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			impossible := fmt.Sprintf(`{"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}], "metadata": {%q:
				{"type": "approval_request", "approvals": [], "elsewhere": [{"id": "w1", "waitsFor": "the board", %s}]}}}}`, dialect.URI, times)
			for _, first := range []string{impossible, childWaits("")} {
				l, s := newLooking(t, first)
				id := s.Send("/it hello").ID
				waitsElsewhere(t, s.Get(id))
				l.says(impossible)
				passes(t, func() bool { return strings.Contains(waitsElsewhere(t, s.Get(id)), "the board") }, s)
				l.says(childDone)
				passes(t, func() bool { return s.Get(id).Status.State == a2a.TaskStateCompleted }, s)
			}
		})
	}
}

// An agent that takes requests and never answers them is away, too: a person is asked after a day.
func TestHangsWhileItIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]string{"works": childWorks, "waits": childWaits("")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := newLooking(t, status)
			var hangs atomic.Bool
			answers := l.Config.Handler
			l.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if hangs.Load() {
					_, _ = io.Copy(io.Discard, r.Body) // else nothing says that the client leaves
					<-r.Context().Done()
					return
				}
				answers.ServeHTTP(w, r)
			})
			id := begin(t, s, "/it hello")
			l.looked(t, s)
			hangs.Store(true)
			passes(t, func() bool {
				s.Advance(20 * time.Minute)
				return s.Get(id).Status.State == a2a.TaskStateInputRequired
			}, s)
			if asked := s.Pending(s.Get(id)); len(asked) != 1 || asked[0].Kind != approval.KindOutcome {
				t.Errorf("it asks %+v, want whether it has run", asked)
			}
		})
	}
}
