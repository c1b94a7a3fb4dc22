package bench

import (
	"bytes"
	"fmt"
	"testing"
)

// passed streams a task of n chunks that message asks for, and counts their bytes: chunks that arrive
// together are passed on as one.
func passed(c *conn, i int, message string, n int) error {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"SendStreamingMessage","params":{"message":{"messageId":"%d-%d","role":"ROLE_USER","parts":[{"text":%q}]}}}`,
		i, messages.run, messages.last.Add(1), message)
	if err := c.open(body); err != nil {
		return err
	}
	size, done := 0, false
	err := c.frames(func(frame []byte) error {
		if at := bytes.Index(frame, textKey); at >= 0 && frame[at+len(textKey)] != '"' {
			size += bytes.IndexByte(frame[at+len(textKey):], '"')
		}
		done = done || bytes.Contains(frame, completed)
		return nil
	})
	if err == nil && (size != n*64 || !done) {
		err = fmt.Errorf("the stream ended after %d of %d bytes, completed: %v", size, n*64, done)
	}
	return err
}

// startAgent starts a server whose agent is below.
func startAgent(b *testing.B, below *server) *server {
	b.Helper()
	return startSpec(b, spec{Kind: whole, File: dir(b), Config: configured(b, fmt.Sprintf(
		"tools:\n  - agent: below\n    description: Streams\n    card: http://%s/.well-known/agent-card.json\n    networks: [127.0.0.1]\n    approve: false\n", below.addr))})
}

// BenchmarkAgents streams tasks of 5,000 chunks of 64 bytes to one client: from a server, from an
// agent one hop away, and from one two hops away. An operation is one such task.
func BenchmarkAgents(b *testing.B) {
	const n = 5000
	leaf := startSpec(b, spec{Kind: whole, File: dir(b), Config: configured(b, "")})
	middle := startAgent(b, leaf)
	top := startAgent(b, middle)
	message := fmt.Sprintf("/stream chunks=%d", n)
	ways := []*way{
		{name: "directly", s: leaf}, {name: "one hop", s: middle}, {name: "two hops", s: top},
	}
	for _, w := range ways {
		text := message
		w.do = func(c *conn, i int) error { return passed(c, i, text, n) }
		message = "/below " + message
	}
	compare(b, fmt.Sprintf("a task of %d chunks", n), 1, n, ways)
}
