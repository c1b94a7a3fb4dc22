package bench

import (
	"fmt"
	"testing"
)

// BenchmarkSend sends messages that each make a task of one call, and waits for the
// completed task. Two waits: the call has effects, so that it must be durable that it
// starts, before it does. One wait: it is read-only. The other servers know no
// difference; they are measured beside both.
func BenchmarkSend(b *testing.B) {
	for _, conns := range []int{16, 64} {
		for _, c := range []struct{ waits, tool string }{{"two waits", "note"}, {"one wait", "echo"}} {
			takeTurns(b, []kind{ours, peer, echoed}, func(k kind) {
				b.Run(fmt.Sprintf("conns=%d/%s/%s", conns, c.waits, k), func(b *testing.B) {
					s := start(b, k)
					b.ResetTimer()
					l := drive(b, s, conns, b.N, func(conn *conn, i int) error {
						text := fmt.Sprintf("text %016d", i)
						body, err := conn.post(request("SendMessage", i, c.tool, `{"text":"`+text+`"}`, ""))
						if err != nil {
							return err
						}
						return checkTask(body, i, text)
					})
					l.figure(b, fmt.Sprintf("SendMessage, %d connections, %s", conns, c.waits), k, 1, "req")
				})
			})
		}
	}
}
