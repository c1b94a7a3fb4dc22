package openapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here copies the example to a folder, for an API on this machine.
func here(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a2a-server.yaml", "pets.yaml"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), "    server: https://pets.example.com", "    server: "+url+"\n    networks: [127.0.0.1]")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "a2a-server.yaml")
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var created atomic.Int64
	api := http.NewServeMux()
	api.HandleFunc("GET /pets", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[{"name": "Rex", "kind": %q}]`, r.URL.Query().Get("kind"))
	})
	api.HandleFunc("POST /pets", func(w http.ResponseWriter, r *http.Request) {
		created.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body) // the test reads what came of it
	})
	server := httptest.NewServer(api)
	defer server.Close()
	s := a2aservertest.New(t, testserver.Config{File: here(t, server.URL)}.Must(t))

	listed := s.Send("/pets_listPets kind=dog")
	if got, want := s.Text(s.Wait(listed.ID, a2a.TaskStateCompleted)), `[{"kind":"dog","name":"Rex"}]`; !strings.Contains(got, want) {
		t.Errorf("listPets returned %s, want %s", got, want)
	}

	asked := s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{
		"tool": "pets_createPet", "args": map[string]any{"body": map[string]any{"name": "Tom", "kind": "cat", "friends": []any{map[string]any{"name": "Kim", "kind": "cat"}}}},
	})))
	s.Wait(asked.ID, a2a.TaskStateInputRequired)
	if created.Load() > 0 {
		t.Error("the request was made before it was approved")
	}
	s.Approve(asked)
	if got := s.Text(s.Wait(asked.ID, a2a.TaskStateCompleted)); !strings.Contains(got, `"name":"Tom"`) {
		t.Errorf("createPet returned %s", got)
	}
	if n := created.Load(); n != 1 {
		t.Errorf("%d pets were created, want 1", n)
	}

	// An operation that is not listed is not there.
	s.Wait(s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{
		"tool": "pets_deletePet", "args": map[string]any{"id": 1},
	}))).ID, a2a.TaskStateFailed)
}
