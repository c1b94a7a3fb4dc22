package mcptoolset_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/tool"
)

// A server that speaks the versions in which it may ask while a call runs, and the one in
// which it must not, can ask if it is told to speak the former.
func TestProtocol(t *testing.T) {
	t.Parallel()
	elicit := &mcp.ElicitParams{Message: "Which colour?", RequestedSchema: properties(map[string]any{"colour": map[string]any{"type": "string"}})}
	for _, handshake := range []bool{false, true} {
		t.Run(fmt.Sprint("handshake ", handshake), func(t *testing.T) {
			t.Parallel()
			p := (&people{}).says(tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`{"colour":"red"}`)}, nil)
			// The library fails questions over the versions that forbid them.
			config := asking(over(t, eliciting(nil, elicit)))
			config.Handshake = handshake
			all, err := call(p.ctx(t), named(t, open(t, config), "paint"), map[string]any{"thing": "wall"})
			got := ""
			if len(all) == 1 {
				got, _ = all[0].Content.(string)
			}
			if answered := err == nil && got == `accept {"colour":"red"}`; answered != handshake || len(p.asked()) > 0 != handshake {
				t.Errorf("people were asked %+v, the result is %q, %v; want an answer: %v", p.asked(), got, err, handshake)
			}
		})
	}
}
