package chat_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"a2a-server/internal/golden"
	"a2a-server/internal/modeltest"
)

// Well-formed streams, and what is read from them. The files are read by openai-go, too, in
// internal/interop; it joins the calls of Ollama.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, dialect := range []modeltest.Dialect{modeltest.OpenAI, modeltest.VLLM} {
		e := &modeltest.Endpoint{Dialect: dialect, Comment: dialect == modeltest.VLLM, Answer: func(*modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Text: "Größe: 250 €.", Reasoning: "hm", Calls: []modeltest.Call{{Name: "pay", Args: `{"to":"Zoë","n":1}`}, {Name: "look", Args: `{}`}}}
		}}
		c := newClient(t, e)
		got, _, err := complete(t, c)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(body(t))))
		stream, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Calls {
			got.Calls[i].ID = "" // each stream has others
		}
		read, err := json.MarshalIndent(map[string]any{"text": got.Text, "calls": got.Calls, "finish": got.Finish, "usage": got.Usage}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, filepath.Join("testdata", "streams", string(dialect)+".sse"), string(stream))
		golden.File(t, filepath.Join("testdata", "streams", string(dialect)+".json"), string(read)+"\n")
	}
}
