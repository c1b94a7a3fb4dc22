package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2a-server/auth/apikey"
	"a2a-server/internal/oidctest"
)

// configured writes a configuration file.
func configured(tb testing.TB, text string) (file string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// startWithKeys starts the program with an API key for each caller, in the header
// callerHeader, and more configuration.
func startWithKeys(tb testing.TB, more string, callers ...string) *server {
	tb.Helper()
	config := configured(tb, "auth: {default_roles: [requester], keys: {header: "+callerHeader+", file: keys.yaml}}\n"+more)
	keys := map[string]string{}
	for _, name := range callers {
		key, err := apikey.Add(filepath.Join(filepath.Dir(config), "keys.yaml"), apikey.Key{ID: name}, false)
		if err != nil {
			tb.Fatal(err)
		}
		keys[name] = key
	}
	s := startSpec(tb, spec{Kind: whole, File: dir(tb), Config: config})
	s.keys = keys
	return s
}

// startWithTokens starts the program with the tokens of an issuer.
func startWithTokens(tb testing.TB, issuer *oidctest.Issuer, more string) *server {
	tb.Helper()
	return startSpec(tb, spec{Kind: whole, File: dir(tb), Config: configured(tb,
		"auth:\n  oidc:\n    - {name: corp, issuer: "+issuer.URL+", audiences: ["+oidctest.Audience+"], networks: [127.0.0.1], roles: [requester]}\n"+more)})
}

// noCredential is a line of a header that proves nothing.
const noCredential = "X-Nothing: 1"

// door is one way for a caller of a server to say or prove who they are.
type door struct {
	name       string
	s          *server
	credential func(i int) string // of request i
	prepare    func(n int)        // before n requests; may be nil
	task       string             // of this caller
}

// doors are a server without authentication, and those with API keys, with a token that it
// knows, and with tokens that it has not seen.
func doors(tb testing.TB) []*door {
	tb.Helper()
	issuer := oidctest.New(tb)
	keys, tokens := startWithKeys(tb, "", "alice"), startWithTokens(tb, issuer, "")
	same := func(line string) func(int) string { return func(int) string { return line } }
	warm := same("Authorization: Bearer " + issuer.Token(tb, nil))
	unseen := []string{"Authorization: Bearer " + issuer.Token(tb, map[string]any{"jti": "first"})}
	all := []*door{
		{name: "nobody", s: startSpec(tb, spec{Kind: whole, File: dir(tb), Config: configured(tb, "log: {level: warn}\n")}), credential: same(noCredential)},
		{name: "key", s: keys, credential: same(callerHeader + ": " + keys.keys["alice"])},
		{name: "token, warm", s: tokens, credential: warm},
		{name: "token, cold", s: tokens, credential: func(i int) string { return unseen[i] }, prepare: func(n int) {
			run := time.Now().UnixNano()
			unseen = unseen[:0]
			for i := range n {
				unseen = append(unseen, "Authorization: Bearer "+issuer.Token(tb, map[string]any{"jti": fmt.Sprintf("%d-%d", run, i)}))
			}
		}},
	}
	for _, d := range all {
		d.task = ownTask(tb, d.s, d.credential(0), request("SendMessage", 1, "echo", `{"text":"hello"}`, ""))
	}
	return all
}

// ownTask makes a task of somebody with a credential, and returns its id.
func ownTask(tb testing.TB, s *server, credential string, body []byte) (id string) {
	tb.Helper()
	c, err := dial(s.addr, runLimit)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.close()
	answer, err := c.with(credential).post(body)
	if err == nil {
		id, _, err = task(answer)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// get reads the caller's task.
func (d *door) get(c *conn, i int) error {
	answer, err := c.with(d.credential(i)).post(named("GetTask", d.task))
	if err == nil && !strings.Contains(string(answer), d.task) {
		err = fmt.Errorf("the answer is not the task: %.300s", answer)
	}
	return err
}

// BenchmarkAuthentication reads a task with each kind of credential, and without any. The
// figures are what a credential adds to the processor time and to the latency.
func BenchmarkAuthentication(b *testing.B) {
	for _, conns := range []int{1, 16} {
		var ways []*way
		for _, d := range doors(b) {
			ways = append(ways, &way{name: d.name, s: d.s, prepare: d.prepare, do: d.get})
		}
		compare(b, fmt.Sprintf("get/conns=%d", conns), conns, 1, ways)
	}
}

// principals is how many callers BenchmarkPrincipals has.
const principals = 10_000

// BenchmarkPrincipals measures what a server remembers of 10,000 callers with tokens, each of
// whom has made a request.
func BenchmarkPrincipals(b *testing.B) {
	if b.N > 1 {
		b.Skip("it measures once")
	}
	issuer := oidctest.New(b)
	s := startWithTokens(b, issuer, "limits: {rate: 1000000}\n")
	grown, err := remember(b, s, issuer, principals)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(grown)/(1<<20), "MiB")
	figures.note(fmt.Sprintf("RssAnon of %d principals", principals), "%.1f MiB", float64(grown)/(1<<20))
}

// remember has n callers list their tasks, one after the other, and returns by how much the
// server has grown, beside what as many requests of one caller cost.
func remember(tb testing.TB, s *server, issuer *oidctest.Issuer, n int) (grown int64, err error) {
	c, err := dial(s.addr, runLimit)
	if err != nil {
		return 0, err
	}
	defer c.close()
	list := []byte(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
	ask := func(token func(i int) string) error {
		for i := range n {
			c.with("Authorization: Bearer " + token(i))
			answer, err := c.post(list)
			if err == nil && !strings.Contains(string(answer), `"tasks":[]`) {
				err = fmt.Errorf("the answer is no list: %.300s", answer)
			}
			if err != nil {
				return err
			}
		}
		s.tell("free")
		return nil
	}
	one := issuer.Token(tb, nil)
	err = ask(func(int) string { return one })
	before, err1 := s.memory()
	if err := cmp.Or(err, err1); err != nil {
		return 0, err
	}
	err = ask(func(i int) string { return issuer.Token(tb, map[string]any{"sub": fmt.Sprintf("caller-%05d", i)}) })
	after, err1 := s.memory()
	return after.anon - before.anon, cmp.Or(err, err1)
}

// BenchmarkHog has ten callers send, read and decide, first alone and then beside one who
// sends from 64 connections as fast as answers come, all with API keys. The figures are the
// p99 of the ten in both, without limits.rate and with it.
func BenchmarkHog(b *testing.B) {
	if b.N > 1 {
		b.Skip("it measures for a fixed time, once")
	}
	for name, more := range map[string]string{"without limits.rate": "", "with limits.rate 100": "limits: {rate: 100}\n"} {
		names := []string{mallory}
		for i := range honests {
			names = append(names, honestName(i))
		}
		s := startWithKeys(b, more, names...)
		alone := honestly(b, s, 10*time.Second)
		h := &hostile{s: s, stop: make(chan struct{}), strikes: map[string]map[string]int{}}
		h.shape("sends", 64, h.sends())
		beside := honestly(b, s, 20*time.Second)
		h.end()
		h.report(b)
		before, after := alone.quantile(0.99), beside.quantile(0.99)
		figures.note("ten callers beside a hog, "+name, "p99 %v beside %v alone: %.1f times; %d refused",
			after.Round(10*time.Microsecond), before.Round(10*time.Microsecond), float64(after)/float64(max(before, 1)), alone.refused+beside.refused)
		s.stop()
	}
}

// sends sends one message after the other on a kept connection, and dials again when that has
// ended.
func (h *hostile) sends() func(i int) (string, error) {
	open := make([]*conn, 64) // by shape's number; each is used by one goroutine
	return func(i int) (answer string, err error) {
		if open[i] == nil {
			if open[i], err = dial(h.s.addr, runLimit); err != nil {
				open[i] = nil
				h.pause(100 * time.Millisecond)
				return "", err
			}
			open[i].by(h.s.keys[mallory])
		}
		body, err := open[i].post(request("SendMessage", 1, "echo", `{"text":"hog"}`, ""))
		if _, refused := errors.AsType[*statusError](err); err != nil && !refused {
			open[i].close() // it may be in the middle of an answer
			open[i] = nil
			return "", err
		}
		return kindOf(body), err
	}
}
