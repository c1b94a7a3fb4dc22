package demo_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"a2a-server/internal/demo"
)

// The script calls a tool for each sentence that it understands, tells results, and explains itself
// otherwise.
func TestComplete(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"role":"user","content":"pay alice 250"}`:                  `"arguments":"{\"amount\":250,\"to\":\"alice\"}","name":"transfer_money"`,
		`{"role":"user","content":"Please Transfer 5000 to bob."}`:   `"arguments":"{\"amount\":5000,\"to\":\"bob\"}","name":"transfer_money"`,
		`{"role":"user","content":"Say \"hello\""}`:                  `"name":"echo"`,
		`{"role":"user","content":"pay alice 0250"}`:                 `I only follow a script`,
		`{"role":"user","content":"repay 5 to bob"}`:                 `I only follow a script`,
		`{"role":"tool","content":"pay alice 250"}`:                  `The tool says: pay alice 250`,
		`{"role":"user","content":"What is the capital of France?"}`: `I only follow a script`,
	} {
		w := httptest.NewRecorder()
		demo.Complete(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"messages":[`+message+`]}`)))
		if got := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(got, want) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
			t.Errorf("%s is answered with %d, want %s:\n%s", message, w.Code, want, got)
		}
	}
}
