package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// How long the honest callers are measured: alone, and beside the hostile one.
const (
	aloneFor  = 20 * time.Second
	besideFor = 60 * time.Second
	honests   = 10
)

// BenchmarkHostile has ten honest callers send, read and decide, first alone and then
// beside one that does all it can to be in their way: requests that are made to be
// expensive, bodies that never come, large answers that nobody reads, and more slow
// calls than there are turns. The figures are the honest callers' p99 in both, how many
// of their requests were refused, and the memory of the server. A shape of hostility
// that never struck fails the benchmark.
func BenchmarkHostile(b *testing.B) {
	names := []string{mallory}
	for i := range honests {
		names = append(names, honestName(i))
	}
	s := startWithKeys(b, "", names...)
	alone, beside := aloneFor, besideFor
	if b.N > 1 {
		b.Skip("it measures for a fixed time, once")
	}
	quiet := honestly(b, s, alone)
	h := newHostile(b, s)
	h.begin()
	var crowded *honest
	s.measure(b, func() { crowded = honestly(b, s, beside) })
	h.end()
	h.report(b)
	before, after := quiet.quantile(0.99), crowded.quantile(0.99)
	b.ReportMetric(float64(before.Microseconds()), "alone-p99-µs")
	b.ReportMetric(float64(after.Microseconds()), "beside-p99-µs")
	b.ReportMetric(float64(after)/float64(max(before, 1)), "times")
	b.ReportMetric(float64(crowded.refused), "refused")
	b.ReportMetric(float64(h.anon)/(1<<20), "RssAnon-MiB")
	figures.note("ten honest callers, alone", "%d requests, p50 %v, p99 %v", len(quiet.latencies), quiet.quantile(0.5).Round(10*time.Microsecond), before.Round(10*time.Microsecond))
	figures.note("the same beside a hostile one", "%d requests, p50 %v, p99 %v (%.1f times), %d refused; RssAnon at most %.0f MiB",
		len(crowded.latencies), crowded.quantile(0.5).Round(10*time.Microsecond), after.Round(10*time.Microsecond), float64(after)/float64(max(before, 1)), crowded.refused, float64(h.anon)/(1<<20))
	for _, name := range slices.Sorted(maps.Keys(crowded.worst)) {
		b.Logf("slowest honest %s: %v", name, crowded.worst[name])
	}
	for _, why := range crowded.why {
		b.Log("refused: " + why)
	}
}

func honestName(i int) string { return fmt.Sprintf("honest-%d", i) }

// honest is what the honest callers met.
type honest struct {
	load
	mu      sync.Mutex
	worst   map[string]time.Duration
	refused int
	why     []string
}

// honestly lets the honest callers work for a while. Each sends, reads and decides,
// one request after the other, ten times a second.
func honestly(b *testing.B, s *server, d time.Duration) *honest {
	b.Helper()
	h := &honest{worst: map[string]time.Duration{}}
	until := time.Now().Add(d)
	var wg sync.WaitGroup
	for i := range honests {
		wg.Go(func() {
			c, err := dial(s.addr, runLimit)
			if err != nil {
				h.met("dial", 0, err)
				return
			}
			defer func() { c.close() }()
			c.by(s.keys[honestName(i)])
			for time.Now().Before(until) {
				if err := h.round(c); err != nil {
					// The connection may be in the middle of an answer.
					c.close()
					if c, err = dial(s.addr, runLimit); err != nil {
						h.met("dial", 0, err)
						return
					}
					c.by(s.keys[honestName(i)])
				}
				time.Sleep(time.Duration(50+rand.IntN(100)) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	slices.Sort(h.latencies)
	return h
}

// met notes one request.
func (h *honest) met(what string, took time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if h.refused++; len(h.why) < 10 {
			h.why = append(h.why, what+": "+err.Error())
		}
		return
	}
	h.latencies = append(h.latencies, took)
	h.worst[what] = max(h.worst[what], took)
}

// post sends one request and measures it. wants stands in the answer.
func (h *honest) post(c *conn, what string, body, wants []byte) ([]byte, error) {
	began := time.Now()
	answer, err := c.post(body)
	if err == nil && (bytes.Contains(answer, failed) || !bytes.Contains(answer, wants)) {
		err = fmt.Errorf("the answer is not what was asked for: %.300s", answer)
	}
	h.met(what, time.Since(began), err)
	return answer, err
}

// round is what an honest caller does: a message of 1 KB, its task read back, a call
// that has to be approved, and the approval.
func (h *honest) round(c *conn) error {
	text := strings.Repeat("honest ", 1024/7)
	answer, err := h.post(c, "send", request("SendMessage", 1, "echo", fmt.Sprintf(`{"text":%q}`, text), ""), completed)
	if err != nil {
		return err
	}
	id, _, err := task(answer)
	if err != nil {
		return err
	}
	if _, err := h.post(c, "get", named("GetTask", id), completed); err != nil {
		return err
	}
	if answer, err = h.post(c, "ask", request("SendMessage", 2, "transfer_money", `{"amount":1,"to":"bob"}`, ""), waits); err != nil {
		return err
	}
	id, approval, err := task(answer)
	if err != nil {
		return err
	}
	decision := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":3,"method":"SendMessage","params":{"message":{"messageId":"%d-%d","taskId":%q,"role":"ROLE_USER","parts":[{"data":{"type":"approval_response","decisions":[{"id":%q,"decision":"approve"}]}}]}}}`,
		messages.run, messages.last.Add(1), id, approval)
	_, err = h.post(c, "decide", decision, completed)
	return err
}

// task returns the ids of the task in an answer and of its first approval.
func task(answer []byte) (id, approval string, err error) {
	var a struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.Result.Task.ID == "" {
		return "", "", fmt.Errorf("the answer holds no task: %w: %.300s", cmp.Or(err, errors.New("it has no id")), answer)
	}
	return a.Result.Task.ID, a.Result.Task.ID + ".a1", nil
}

// hostile is one caller that does harm, from many connections.
type hostile struct {
	s       *server
	stop    chan struct{}
	wg      sync.WaitGroup
	mu      sync.Mutex
	strikes map[string]map[string]int // of each shape, by what was answered
	large   []string                  // ids of tasks of some 50 MiB
	anon    int64                     // of the server, at most
}

const mallory = "mallory"

func newHostile(b *testing.B, s *server) *hostile {
	b.Helper()
	h := &hostile{s: s, stop: make(chan struct{}), strikes: map[string]map[string]int{}}
	c, err := dial(s.addr, runLimit)
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	c.by(s.keys[mallory])
	// Four calls of 14 MiB each: what one call may put out is bounded.
	call := `{"data":{"tool":"stream","args":{"chunks":224,"size":65536}}}`
	for range 6 {
		body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"%d-%d","role":"ROLE_USER","parts":[%s]},"configuration":{"returnImmediately":true}}}`,
			messages.run, messages.last.Add(1), strings.Join([]string{call, call, call, call}, ","))
		answer, err := c.post(body)
		if err != nil {
			b.Fatal(err)
		}
		id, _, err := task(answer)
		if err != nil {
			b.Fatal(err)
		}
		h.large = append(h.large, id)
	}
	for _, id := range h.large {
		if err := atRest(c, id); err != nil {
			b.Fatal(err)
		}
	}
	return h
}

// atRest waits until a task of mallory's is at its end, by following it.
func atRest(c *conn, id string) error {
	if err := c.open(named("SubscribeToTask", id)); err != nil {
		if strings.Contains(err.Error(), "has ended") {
			return nil
		}
		return err
	}
	return c.frames(func([]byte) error { return nil })
}

// begin starts every shape of hostility.
func (h *hostile) begin() {
	parts := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}` + strings.Repeat(",{}", 1_390_000) + `]}}}`
	method := `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 4_000_000) + `","params":{}}`
	toolName := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"t","role":"ROLE_USER","parts":[{"data":{"tool":"` + strings.Repeat("t", 3_900_000) + `","args":{}}}]}}}`
	members := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"d","role":"ROLE_USER","parts":[{"data":{` + manyMembers(300_000) + `}}]}}}`
	h.shape("a million parts", 2, h.posts([]byte(parts)))
	h.shape("a method of 4 MB", 2, h.posts([]byte(method)))
	h.shape("a tool of 4 MB", 2, h.posts([]byte(toolName)))
	h.shape("300,000 members", 2, h.posts([]byte(members)))
	for _, head := range []string{"POST /nowhere", "POST /", "GET /tasks", "POST /tasks/x:subscribe"} {
		h.shape("a body that never comes, "+head, 15, h.halves(head))
	}
	h.shape("large answers that nobody reads", 40, h.unread)
	list := []byte(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":12}}`)
	h.shape("lists of large tasks", 6, h.posts(list))
	whole := []byte(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":12,"includeArtifacts":true}}`)
	h.shape("lists of large tasks with their artifacts", 6, h.posts(whole))
	h.shape("slow calls", 4, h.slow)
	h.wg.Go(h.weigh)
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":0`, i)
	}
	return b.String()
}

// shape strikes from n connections until the end.
func (h *hostile) shape(name string, n int, strike func(i int) (answer string, err error)) {
	answers := map[string]int{}
	h.strikes[name] = answers
	for i := range n {
		h.wg.Go(func() {
			for h.goesOn() {
				answer, err := strike(i)
				if err != nil {
					answer = "error: " + errKind(err)
				}
				h.mu.Lock()
				answers[answer]++
				h.mu.Unlock()
			}
		})
	}
}

func (h *hostile) goesOn() bool {
	select {
	case <-h.stop:
		return false
	default:
		return true
	}
}

// pause waits for d or the end.
func (h *hostile) pause(d time.Duration) {
	select {
	case <-h.stop:
	case <-time.After(d):
	}
}

// errKind is an error without what differs from one to the next.
func errKind(err error) string {
	var ne net.Error
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		return "time-out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	case errors.Is(err, net.ErrClosed):
		return "the end of the run"
	case strings.Contains(err.Error(), "reset by peer"), strings.Contains(err.Error(), "broken pipe"):
		return "reset"
	}
	return fmt.Sprintf("%.60s", err.Error())
}

// posts sends one request again and again, on a connection of its own each time.
func (h *hostile) posts(body []byte) func(int) (string, error) {
	return func(int) (string, error) {
		c, err := dial(h.s.addr, time.Minute)
		if err != nil {
			h.pause(100 * time.Millisecond)
			return "", err
		}
		defer c.close()
		answer, err := c.by(h.s.keys[mallory]).post(body)
		if err != nil {
			h.pause(10 * time.Millisecond)
			return "", err
		}
		return kindOf(answer), nil
	}
}

// kindOf names an answer by its error's code and reason, and how large it is.
func kindOf(answer []byte) string {
	size := "small"
	if len(answer) > 64<<10 {
		size = "above 64 KiB"
	}
	if _, rest, ok := bytes.Cut(answer, []byte(`"error":{"code":`)); ok {
		code, rest, _ := bytes.Cut(rest, []byte(","))
		_, rest, _ = bytes.Cut(rest, []byte(`"reason":"`))
		reason, _, _ := bytes.Cut(rest, []byte(`"`))
		return fmt.Sprintf("%s %s, %s", code, reason, size)
	}
	return "a result, " + size
}

// halves promises a body and sends none, until the server hangs up.
func (h *hostile) halves(head string) func(int) (string, error) {
	return func(int) (string, error) {
		c, err := net.DialTimeout("tcp", h.s.addr, 10*time.Second)
		if err != nil {
			h.pause(100 * time.Millisecond)
			return "", err
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(45 * time.Second))
		closeAt := make(chan struct{})
		defer close(closeAt)
		go func() { // the end does not wait for it
			select {
			case <-h.stop:
				_ = c.Close()
			case <-closeAt:
			}
		}()
		if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", head, h.s.addr, callerHeader, h.s.keys[mallory]); err != nil {
			return "", err
		}
		answer, err := io.ReadAll(c)
		if len(answer) > 12 {
			return string(answer[9:12]), nil
		}
		return "hung up", err
	}
}

// unread asks for a large task and does not read the answer.
func (h *hostile) unread(i int) (string, error) {
	c, err := dial(h.s.addr, time.Minute)
	if err != nil {
		h.pause(100 * time.Millisecond)
		return "", err
	}
	defer c.close()
	if err := c.by(h.s.keys[mallory]).send(named("GetTask", h.large[i%len(h.large)])); err != nil {
		return "", err
	}
	h.pause(15 * time.Second)
	return "left", nil
}

// slow makes a call that takes minutes.
func (h *hostile) slow(int) (string, error) {
	body := request("SendMessage", 1, "stream", `{"chunks":2,"interval":"4m"}`, `,"configuration":{"returnImmediately":true}`)
	answer, err := h.posts(body)(0)
	h.pause(20 * time.Millisecond)
	return answer, err
}

// weigh looks at the server's memory until the end.
func (h *hostile) weigh() {
	for h.goesOn() {
		if m, err := h.s.memory(); err == nil {
			h.anon = max(h.anon, m.anon)
		}
		h.pause(100 * time.Millisecond)
	}
}

// end stops all hostility.
func (h *hostile) end() {
	close(h.stop)
	h.wg.Wait()
}

// report logs what became of each shape, and fails for one that never struck.
func (h *hostile) report(b *testing.B) {
	b.Helper()
	for _, name := range slices.Sorted(maps.Keys(h.strikes)) {
		if len(h.strikes[name]) == 0 {
			b.Errorf("%s: never struck", name)
			continue
		}
		var said []string
		for _, answer := range slices.Sorted(maps.Keys(h.strikes[name])) {
			said = append(said, fmt.Sprintf("%d × %s", h.strikes[name][answer], answer))
		}
		fmt.Fprintf(os.Stderr, "hostile: %s: %s\n", name, strings.Join(said, "; "))
	}
}
