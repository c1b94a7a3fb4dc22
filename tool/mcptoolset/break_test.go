package mcptoolset_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"a2a-server/tool/mcptoolset"
)

// A URL may have a secret in its query, and the HTTP client writes it in another way than
// the configuration.
func TestSecretOfTheURL(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/m cp?key=s3cret", "/ä?key=s3cret", "/%7e?key=s3cret", "/a|b?key=s3cret", "?key=s3cret"} {
		config := web(t, http.NotFoundHandler())
		config.HTTP.URL = strings.TrimSuffix(config.HTTP.URL, "/mcp") + path
		config.Retry = time.Hour
		for what, change := range map[string]func(*mcptoolset.Config){
			"not found": func(*mcptoolset.Config) {},
			"refused":   func(c *mcptoolset.Config) { h := *c.HTTP; h.Allow = nil; c.HTTP = &h },
		} {
			c := config
			change(&c)
			set := open(t, c)
			_, err := set.Tools(nil)
			if s := fmt.Sprint(err, set.Status()); err == nil || strings.Contains(s, "s3cret") {
				t.Errorf("%s, %s: %s", path, what, s)
			}
		}
	}
}

// A server that answers twice, with ids of nobody, and reports on calls of nobody only wastes
// its own time.
func TestAnswersOfNobody(t *testing.T) {
	t.Parallel()
	set := open(t, scripted(t, func(_ int, s *script) {
		for {
			m, ok := s.answer(echoTool)
			if !ok {
				return
			}
			for _, id := range []string{"99999", `"x"`, "null", "-1", "1.5", `"` + string(m.ID) + `"`} {
				s.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"wrong"}]}}`, id)
				s.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"wrong"}}`, id)
			}
			for _, token := range []string{"0", `"77"`, "null", "[]", "{}"} {
				s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"wrong"}}`, token)
			}
			s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`)
			for _, text := range []string{"right", "wrong"} {
				s.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, m.ID, text)
			}
		}
	}))
	echo := named(t, set, "echo")
	for range 3 {
		var seen reports
		got, err := call(t.Context(), echo, map[string]any{})
		if err != nil || len(got) != 1 || got[0].Content != "right" || seen.n() != 0 {
			t.Fatalf("call = %v, %v, and %d reports", got, err, seen.n())
		}
	}
	if s := set.Status(); !s.Connected {
		t.Errorf("status = %+v", s)
	}
}
