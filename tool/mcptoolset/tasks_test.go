package mcptoolset_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"a2a-server/tool/mcptoolset"
)

// withTasks are tools that can be called, may be called as a task, and must be.
const withTasks = `{"name":"echo","description":"\"taskSupport\":\"required\"","inputSchema":{"type":"object"}},` +
	`{"name":"may","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},` +
	`{"name":"must","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`

// A tool that runs only as a task of MCP is not offered, and a problem: every call of it
// would fail.
func TestToolsThatAreTasks(t *testing.T) {
	t.Parallel()
	overHTTP := func(stream string) mcptoolset.Config {
		return web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var answer string
			switch m := string(body); {
			case strings.Contains(m, `"server/discover"`):
				answer = `"error":{"code":-32601,"message":"what?"}`
			case strings.Contains(m, `"initialize"`):
				answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`
			case strings.Contains(m, `"tools/list"`):
				answer = `"result":{"tools":[` + withTasks + `]}`
			case r.Method == http.MethodPost:
				w.WriteHeader(http.StatusAccepted)
				return
			default:
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			_, id, _ := strings.Cut(string(body), `"id":`)
			id = id[:strings.IndexAny(id, ",}")]
			answer = `{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`
			if stream == "" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprint(w, answer)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = fmt.Fprint(w, strings.ReplaceAll("event: message\n"+strings.ReplaceAll("data: "+answer, `,{"name"`, ",\ndata: {\"name\"")+"\n\n", "\n", stream))
		}))
	}
	for name, config := range map[string]mcptoolset.Config{
		"lines": scripted(t, func(_ int, s *script) { s.answer(withTasks) }), "HTTP": overHTTP(""), "HTTP, stream": overHTTP("\n"), "HTTP, CRLF": overHTTP("\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := open(t, config)
			if got := strings.Join(names(t, set), " "); got != "echo may" {
				t.Errorf("offered are %s, want echo and may", got)
			}
			if problems := set.Status().Problems; len(problems) != 1 || !strings.Contains(problems[0], `tool "must": it runs only as a task of MCP`) {
				t.Errorf("problems = %q", problems)
			}
		})
	}
}
