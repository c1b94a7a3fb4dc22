package bench

import (
	"fmt"
	"testing"
)

// BenchmarkMetrics sends messages to the program without metrics and with them: the figures are
// what metrics add to a send.
func BenchmarkMetrics(b *testing.B) {
	const conns = 64
	var ways []*way
	for _, v := range []struct{ name, file string }{
		{"without", "log: {level: warn}\n"},
		{"metrics", "log: {level: warn}\nadmin: {listen: \"127.0.0.1:0\"}\n"},
	} {
		ways = append(ways, &way{name: v.name, s: startSpec(b, spec{Kind: whole, File: dir(b), Config: configured(b, v.file)}), do: func(c *conn, i int) error {
			text := fmt.Sprintf("text %016d", i)
			body, err := c.post(request("SendMessage", i, "echo", `{"text":"`+text+`"}`, ""))
			if err != nil {
				return err
			}
			return checkTask(body, i, text)
		}})
	}
	compare(b, fmt.Sprintf("send/conns=%d", conns), conns, 1, ways)
}
