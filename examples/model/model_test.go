package model_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/internal/modeltest"
	"a2a-server/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here returns a copy of the configuration for an endpoint on this machine, with the modes that a
// clone has.
func here(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a2a-server.yaml", "instructions.txt"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), "http://127.0.0.1:11434", url)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "a2a-server.yaml")
}

// joined returns the text of the artifacts; chunks are parts of it.
func joined(t *a2a.Task) string {
	var text strings.Builder
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			text.WriteString(p.Text())
		}
	}
	return text.String()
}

// A message in plain words becomes a call that a person approves, and the model's last text is
// the result, whatever the dialect of the endpoint.
func TestModel(t *testing.T) {
	t.Parallel()
	for _, dialect := range []modeltest.Dialect{modeltest.OpenAI, modeltest.Ollama, modeltest.VLLM} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			model := &modeltest.Endpoint{Dialect: dialect, Model: "qwen3", Split: 3, Answer: modeltest.Bank}
			endpoint := httptest.NewServer(model)
			t.Cleanup(endpoint.Close)
			s := a2aservertest.New(t, testserver.Config{File: here(t, endpoint.URL)}.Must(t))

			asked := s.Send("Please transfer 250 to alice")
			s.Wait(asked.ID, a2a.TaskStateInputRequired)
			s.Approve(asked)
			done := s.Wait(asked.ID, a2a.TaskStateCompleted)
			if got, want := joined(done), "The bank says: "; !strings.Contains(got, want) || !strings.Contains(got, `"transferred":250`) {
				t.Errorf("the result is %q, want it to contain %q and the amount", got, want)
			}
			requests := model.Requests()
			if n := len(requests); n != 2 {
				t.Fatalf("the model was asked %d times, want 2: a step that is in the log is not asked for again", n)
			}
			if first := requests[0].Messages[0]; first.Role != "system" || !strings.Contains(first.Content, "assistant of a bank") {
				t.Errorf("the conversation begins with %+v, want the instructions", first)
			}
		})
	}
}
