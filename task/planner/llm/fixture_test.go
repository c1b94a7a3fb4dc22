package llm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/internal/modeltest"
	"a2a-server/internal/testserver"
	"a2a-server/task/planner/llm"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a server whose planner asks an endpoint.
type scene struct {
	*a2aservertest.Server
	t     testing.TB
	model *modeltest.Endpoint
	bank  *bank
}

// bank has a tool that pays, and asks before, and a tool that reads.
type bank struct {
	mu   sync.Mutex
	paid []string
	note string // that the tool look returns
}

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

func (b *bank) tools() tool.Toolset {
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "Pays.", RequireApproval: true}, func(_ tool.Context, p payment) (string, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.paid = append(b.paid, p.To)
		return "paid", nil
	}))
	look := functiontool.Must(functiontool.New(functiontool.Config{Name: "mail.look", Description: "Reads the mail."}, func(tool.Context, struct{}) (string, error) { return b.note, nil }))
	ask := functiontool.Must(functiontool.New(functiontool.Config{Name: "ask"}, func(ctx tool.Context, _ struct{}) (string, error) {
		ctx.Actions().RequireInput, ctx.Actions().InputPrompt = true, "Which account?"
		return "asked", nil
	}))
	report := functiontool.Must(functiontool.New(functiontool.Config{Name: "report"}, func(ctx tool.Context, _ struct{}) (string, error) {
		ctx.Actions().SkipSummarization = true
		return "a long report", nil
	}))
	return tool.NewToolset("bank", pay, look, ask, report)
}

// wantPaid checks to whom was paid, in order.
func (s *scene) wantPaid(want string) {
	s.t.Helper()
	s.bank.mu.Lock()
	defer s.bank.mu.Unlock()
	if got := strings.Join(s.bank.paid, " "); got != want {
		s.t.Errorf("paid %q, want %q", got, want)
	}
}

// newScene returns a server with a planner, made with quick repeats.
func newScene(t *testing.T, model *modeltest.Endpoint, change ...func(*llm.Config)) *scene {
	t.Helper()
	endpoint := httptest.NewServer(model)
	t.Cleanup(endpoint.Close)
	c := llm.Config{URL: endpoint.URL + "/v1", Model: "m", Pause: time.Millisecond, Wait: time.Hour}
	for _, f := range change {
		f(&c)
	}
	planner, err := llm.New(c)
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{}
	s := a2aservertest.New(t, testserver.Config{Planner: planner, Tools: []tool.Toolset{b.tools()}}.Must(t))
	return &scene{Server: s, t: t, model: model, bank: b}
}

// answers returns a model that gives these answers, and then ok.
func answers(list ...modeltest.Answer) *modeltest.Endpoint {
	var mu sync.Mutex
	return &modeltest.Endpoint{Dialect: modeltest.OpenAI, Answer: func(*modeltest.Request) modeltest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if len(list) == 0 {
			return modeltest.Answer{Text: "ok"}
		}
		next := list[0]
		list = list[1:]
		return next
	}}
}

// calling is an answer with calls: tools and arguments in turn.
func calling(pairs ...string) modeltest.Answer {
	var a modeltest.Answer
	for i := 0; i < len(pairs); i += 2 {
		a.Calls = append(a.Calls, modeltest.Call{Name: pairs[i], Args: pairs[i+1]})
	}
	return a
}

// decide decides the only pending approval of a task.
func (s *scene) decide(id a2a.TaskID, d approval.Decision) {
	s.t.Helper()
	pending := s.Pending(s.Wait(id, a2a.TaskStateInputRequired))
	if len(pending) != 1 {
		s.t.Fatalf("%d approvals are pending, want one", len(pending))
	}
	decision := map[string]any{"id": pending[0].ID, "digest": pending[0].Digest, "decision": string(d.Type)}
	if d.Reason != "" {
		decision["reason"] = d.Reason
	}
	if d.Args != nil {
		decision["arguments"] = d.Args
	}
	s.reply(id, a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{decision}}))
}

// reply sends a message to a task.
func (s *scene) reply(id a2a.TaskID, parts ...*a2a.Part) *a2a.Task {
	s.t.Helper()
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	m.TaskID = id
	return s.SendMessage(m)
}

// newest returns the newest request to the model.
func (s *scene) newest() *modeltest.Request {
	all := s.model.Requests()
	return all[len(all)-1]
}

// text returns the text of an artifact.
func text(t *a2a.Task, id string) string {
	var all strings.Builder
	for _, a := range t.Artifacts {
		if string(a.ID) == id {
			for _, p := range a.Parts {
				all.WriteString(p.Text())
			}
		}
	}
	return all.String()
}

// says returns the text of the status.
func says(t *a2a.Task) string {
	if t.Status.Message == nil || len(t.Status.Message.Parts) == 0 {
		return ""
	}
	return t.Status.Message.Parts[0].Text()
}

// post sends a request of HTTP+JSON.
func (s *scene) post(path string, body any) *http.Response {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	if body == nil {
		raw = nil
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// stream sends a message and calls take with each event until it returns false, or the stream ends.
func (s *scene) stream(m *a2a.Message, take func(e *event) bool) {
	s.t.Helper()
	s.read("/message:stream", map[string]any{"message": m}, take)
}

// read requests a stream and calls take with each event until it returns false, or the stream ends.
func (s *scene) read(path string, body any, take func(e *event) bool) {
	s.t.Helper()
	resp := s.post(path, body)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		e := &event{}
		if err := json.Unmarshal([]byte(data), e); err != nil {
			s.t.Fatal(err)
		}
		if !take(e) {
			return
		}
	}
}

type event struct {
	Task           *a2a.Task
	StatusUpdate   *a2a.TaskStatusUpdateEvent
	ArtifactUpdate *a2a.TaskArtifactUpdateEvent
}

// start sends a message and returns its task once the model speaks.
func (s *scene) start(m *a2a.Message) (id a2a.TaskID) {
	s.t.Helper()
	s.stream(m, func(e *event) bool {
		if e.ArtifactUpdate != nil {
			id = e.ArtifactUpdate.TaskID
		}
		return e.ArtifactUpdate == nil
	})
	return id
}

func (s *scene) cancel(id a2a.TaskID) {
	s.t.Helper()
	resp := s.post("/tasks/"+string(id)+":cancel", map[string]any{})
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("cancel: %s", resp.Status)
	}
}

// updates sends a message and returns the updates of its status until it rests.
func (s *scene) updates(m *a2a.Message) (all []*a2a.TaskStatusUpdateEvent) {
	s.t.Helper()
	s.stream(m, func(e *event) bool {
		if e.StatusUpdate != nil {
			all = append(all, e.StatusUpdate)
		}
		return true
	})
	return all
}
