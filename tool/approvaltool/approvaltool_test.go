package approvaltool_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/approvaltool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, set map[string]string) *a2aservertest.Server {
	t.Helper()
	request, err := approvaltool.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	ask, err := approvaltool.NewAskUser()
	if err != nil {
		t.Fatal(err)
	}
	return a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{tool.NewToolset("people", request, ask)}, Set: set}.Must(t))
}

func call(name string, args map[string]any) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": name, "args": args}))
}

// answer responds to the only pending question of a task.
func answer(t *testing.T, s *a2aservertest.Server, asked *a2a.Task, response any) *a2a.Task {
	t.Helper()
	pending := s.Pending(asked)
	if len(pending) != 1 {
		t.Fatalf("%d questions are pending, want 1", len(pending))
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{
		"type": "approval_response", "decisions": []any{map[string]any{"id": pending[0].ID, "decision": "respond", "response": response}},
	}))
	m.TaskID = asked.ID
	return s.SendMessage(m)
}

func wantResult(t *testing.T, s *a2aservertest.Server, done *a2a.Task, want string) {
	t.Helper()
	if done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the task is %s, want completed: %s", done.Status.State, s.Text(done))
	}
	if got := strings.TrimSpace(s.Text(done)); !strings.HasPrefix(got, want) {
		t.Errorf("result = %s, want %s", got, want)
	}
}

func TestAskUser(t *testing.T) {
	t.Parallel()
	form := map[string]any{"type": "object", "required": []any{"city"}, "properties": map[string]any{"city": map[string]any{"type": "string"}}}
	for name, tt := range map[string]struct {
		args   map[string]any
		answer any
		want   string
	}{
		"text":            {map[string]any{"question": "Where?"}, "Berlin", `{"answer":"Berlin"}`},
		"choices":         {map[string]any{"question": "Which?", "choices": []any{"a", "b"}}, "b", `{"answer":"b"}`},
		"several choices": {map[string]any{"question": "Which?", "choices": []any{"a", "b", "c"}, "multiple": true}, []any{"a", "c"}, `{"answer":["a","c"]}`},
		"form":            {map[string]any{"question": "Where?", "form": form}, map[string]any{"city": "Rome"}, `{"answer":{"city":"Rome"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			asked := s.SendMessage(call("ask_user", tt.args))
			if pending := s.Pending(asked); len(pending) != 1 || pending[0].Kind != approval.KindQuestion {
				t.Fatalf("pending = %+v, want one question", pending)
			}
			wantResult(t, s, answer(t, s, asked, tt.answer), tt.want)
		})
	}
	t.Run("in plain words", func(t *testing.T) {
		t.Parallel()
		s := serve(t, nil)
		asked := s.SendMessage(call("ask_user", map[string]any{"question": "Where?"}))
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("No idea, Berlin"))
		m.TaskID = asked.ID
		wantResult(t, s, s.SendMessage(m), `{"answer":"No idea, Berlin"}`)
	})
	t.Run("declined", func(t *testing.T) {
		t.Parallel()
		s := serve(t, nil)
		asked := s.SendMessage(call("ask_user", map[string]any{"question": "Where?"}))
		s.Reject(asked, "none of your business")
		wantResult(t, s, s.Wait(asked.ID, a2a.TaskStateCompleted), `{"declined":true,"reason":"none of your business"}`)
	})
	t.Run("overdue", func(t *testing.T) {
		t.Parallel()
		s := serve(t, map[string]string{"deadlines.expires": "1h"})
		asked := s.SendMessage(call("ask_user", map[string]any{"question": "Where?"}))
		s.Advance(2 * time.Hour)
		wantResult(t, s, s.Wait(asked.ID, a2a.TaskStateCompleted), `{"expired":true,"reason":"nobody answered by `)
	})
	for name, args := range map[string]map[string]any{
		"choices and a form":       {"question": "?", "choices": []any{"a"}, "form": form},
		"several of nothing":       {"question": "?", "multiple": true},
		"a schema that is none":    {"question": "?", "form": map[string]any{"type": "thing"}},
		"a schema from elsewhere":  {"question": "?", "form": map[string]any{"$ref": "file:///etc/passwd"}},
		"choices that are no text": {"question": "?", "choices": []any{1.0}},
		"the same choice twice":    {"question": "?", "choices": []any{"a", "a"}},
		"no question":              {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			if failed := s.SendMessage(call("ask_user", args)); failed.Status.State != a2a.TaskStateFailed {
				t.Errorf("the task is %s, want failed: %s", failed.Status.State, s.Text(failed))
			}
		})
	}
}

// TestAnswerAuthorizesNothing: a question cannot be approved, only answered.
func TestAnswerAuthorizesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	asked := s.SendMessage(call("ask_user", map[string]any{"question": "May I pay?", "choices": []any{"yes", "no"}}))
	body := `{"message": {"messageId": "m", "role": "ROLE_USER", "taskId": "` + string(asked.ID) +
		`", "parts": [{"data": {"type": "approval_response", "decisions": [{"id": "` + s.Pending(asked)[0].ID + `", "decision": "approve"}]}}]}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/message:send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("an approval of a question was answered with HTTP %d, want 400", resp.StatusCode)
	}
	if len(s.Pending(asked)) != 1 {
		t.Error("the question is not pending any more")
	}
}
