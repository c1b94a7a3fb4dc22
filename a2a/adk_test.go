package a2a_test

import (
	"strings"
	"testing"
)

// Clients that show people what came of a call, or hand it to a language model, read
// texts only: a result that is data is there as text too, and a text only once (C2).
func TestResultsAreTextToo(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, tt := range []struct{ message, want string }{
		{"/balance", `"parts":[{"data":{"amount":5,"of":"\u003cbob\u003e"}},{"text":"{\"amount\":5,\"of\":\"\u003cbob\u003e\"}"}]`},
		{`/transfer amount=5 to=bob`, `"parts":[{"text":"5 to bob"}]`},
		{"/stream n=0", `"parts":[{"text":""}]`},
	} {
		_, body := post(t, url+"/message:send", `{"message":{"messageId":"`+tt.message+`","role":"ROLE_USER","parts":[{"text":"`+tt.message+`"}]}}`)
		if strings.HasPrefix(tt.message, "/transfer") {
			_, rest, _ := strings.Cut(body, `"id":"`)
			_, body = post(t, url+"/message:send", `{"message":{"messageId":"yes","taskId":"`+rest[:36]+`","role":"ROLE_USER","parts":[{"text":"yes"}]}}`)
		}
		if !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s, want %s", tt.message, body, tt.want)
		}
	}
}
