// Command endpoint stands in for a language model: an endpoint of chat completions that follows a
// script, to try planner llm without a model. It understands "transfer 250 to alice".
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:11434", "the `address`; the default is that of Ollama")
	flag.Parse()
	l, err := net.Listen("tcp", *listen) //nolint:noctx // it lasts as long as the program
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("the endpoint is http://%s/v1", l.Addr())
	server := &http.Server{Handler: http.HandlerFunc(complete), ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(l))
}

// maxRequest bounds a request, in bytes.
const maxRequest = 4 << 20

var order = regexp.MustCompile(`(?i)transfer (\d{1,9}) to (\w+)`)

// complete answers a conversation: it calls transfer_money when it is asked to, then says what came
// of it.
func complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&asked)
	if err != nil || r.URL.Path != "/v1/chat/completions" || len(asked.Messages) == 0 {
		http.Error(w, `{"error": {"message": "post a conversation to /v1/chat/completions"}}`, http.StatusBadRequest)
		return
	}
	last := asked.Messages[len(asked.Messages)-1]
	delta, finish := map[string]any{"content": `I only follow a script: say "transfer 250 to alice".`}, "stop"
	if last.Role == "tool" {
		delta["content"] = "The bank says: " + strings.TrimSpace(last.Content)
	} else if m := order.FindStringSubmatch(last.Content); m != nil {
		call := map[string]any{"name": "transfer_money", "arguments": fmt.Sprintf(`{"amount": %s, "to": %q}`, m[1], m[2])}
		delta = map[string]any{"content": "I will do that. ", "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", len(asked.Messages)), "type": "function", "function": call}}}
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
		event, err := json.Marshal(map[string]any{"model": "script", "choices": []any{choice}})
		if err != nil {
			panic(err) // it is made of texts
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", event) // the client may have left
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
