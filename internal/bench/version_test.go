package bench

import (
	"bytes"
	"fmt"
	"testing"
)

// spoken is how a version of A2A asks over a binding.
type spoken struct {
	name              string
	send, stream, get func(i int, task string) []byte
}

// versions are the same requests in 1.0 and in 0.3.
func versions() []*spoken {
	rpc := func(send, stream, get, message string) (a, b, c func(int, string) []byte) {
		params := func(i int, args string) string {
			return fmt.Sprintf(`{"message":{"messageId":"%d-%d",%s}}`, messages.run, messages.last.Add(1), fmt.Sprintf(message, args))
		}
		call := func(method string, i int, params string) []byte {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params)
		}
		return func(i int, _ string) []byte {
				return call(send, i, params(i, fmt.Sprintf(`{"tool":"note","args":{"text":"text %016d"}}`, i)))
			}, func(i int, _ string) []byte { return call(stream, i, params(i, `{"tool":"stream","args":{"n":100}}`)) },
			func(i int, task string) []byte { return call(get, i, `{"id":"`+task+`"}`) }
	}
	now, old := &spoken{name: "1.0"}, &spoken{name: "0.3"}
	now.send, now.stream, now.get = rpc("SendMessage", "SendStreamingMessage", "GetTask", `"role":"ROLE_USER","parts":[{"data":%s}]`)
	old.send, old.stream, old.get = rpc("message/send", "message/stream", "tasks/get", `"kind":"message","role":"user","parts":[{"kind":"data","data":%s}]`)
	return []*spoken{now, old}
}

// do runs a workload once.
func (v *spoken) do(c *conn, workload string, i int, task string) error {
	if workload == "stream" {
		if err := c.open(v.stream(i, task)); err != nil {
			return err
		}
		f := follower{want: 100, numbers: true}
		if err := c.frames(f.frame); err != nil {
			return err
		}
		return f.end()
	}
	want, body := task, v.get(i, task)
	if workload == "send" {
		want, body = fmt.Sprintf("text %016d", i), v.send(i, task)
	}
	answer, err := c.post(body)
	if err == nil && (!bytes.Contains(answer, []byte(want)) || bytes.Contains(answer, failed)) {
		err = fmt.Errorf("the answer has no %s: %.300s", want, answer)
	}
	return err
}

// BenchmarkVersions does the same over JSON-RPC in A2A 1.0 and 0.3: reads a task, sends a
// message, and streams 100 chunks. The figures are of one chunk where it streams. 0.3 may
// cost 1.5 times what 1.0 costs.
func BenchmarkVersions(b *testing.B) {
	for _, workload := range []string{"get", "send", "stream"} {
		per := 1
		if workload == "stream" {
			per = 100
		}
		s := startSpec(b, spec{Kind: ours})
		id := ownTask(b, s, noCredential, versions()[0].send(0, ""))
		var ways []*way
		for _, v := range versions() {
			ways = append(ways, &way{name: v.name, s: s, do: func(c *conn, i int) error { return v.do(c.speaking(v.name), workload, i, id) }})
		}
		compare(b, workload, 16, per, ways)
	}
}
