package bench

import (
	"fmt"
	"sync/atomic"
	"time"
)

// messages makes ids that no server has seen.
var messages = struct {
	run  int64
	last atomic.Int64
}{run: time.Now().UnixNano()}

// request returns a JSON-RPC request with a message that calls a tool.
func request(method string, id int, tool, args, configuration string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"message":{"messageId":"%d-%d","role":"ROLE_USER","parts":[{"data":{"tool":%q,"args":%s}}]}%s}}`,
		id, method, messages.run, messages.last.Add(1), tool, args, configuration)
}

// named returns a JSON-RPC request about a task.
func named(method, task string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"id":%q}}`, method, task)
}
