package bench

import (
	"fmt"
	"testing"
)

// sends has conns clients each send one message after the other that makes a task of
// one call, and waits for the completed task. The call has effects; a read-only one
// costs our server the same, and the other servers know no difference.
func sends(b *testing.B, s *server, conns int, what string) {
	b.Helper()
	b.ResetTimer()
	l := drive(b, s, conns, b.N, func(conn *conn, i int) error {
		text := fmt.Sprintf("text %016d", i)
		body, err := conn.post(request("SendMessage", i, "note", `{"text":"`+text+`"}`, ""))
		if err != nil {
			return err
		}
		return checkTask(body, i, text)
	})
	l.figure(b, what, s.spec.Kind, 1, "req")
}

// BenchmarkSend sends messages to our server on a file.
func BenchmarkSend(b *testing.B) {
	for _, conns := range []int{16, 64} {
		takeTurns(b, []kind{ours, peer, echoed}, func(k kind) {
			b.Run(fmt.Sprintf("conns=%d/%s", conns, k), func(b *testing.B) {
				sends(b, start(b, k), conns, fmt.Sprintf("SendMessage, %d connections", conns))
			})
		})
	}
}

// BenchmarkSendMemory sends messages to our server on memory: what is left when no
// disk is in the way is the engine's and the wire's.
func BenchmarkSendMemory(b *testing.B) {
	const conns = 64
	takeTurns(b, []kind{ours, echoed}, func(k kind) {
		b.Run(fmt.Sprintf("conns=%d/%s", conns, k), func(b *testing.B) {
			sends(b, startSpec(b, spec{Kind: k}), conns, fmt.Sprintf("SendMessage, %d connections, in memory", conns))
		})
	})
}
