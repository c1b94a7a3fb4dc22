package http_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tickets is an HTTP API with a token.
type tickets struct {
	mu   sync.Mutex
	seen []string // bodies of new tickets
}

func (k *tickets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer s3cret" {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.Method + " " + r.URL.Path {
	case "POST /projects/web/tickets":
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.seen = append(k.seen, fmt.Sprint(body))
		_, _ = fmt.Fprintf(w, `{"ticket": {"id": %d}, "debug": "not part of the result"}`, len(k.seen))
	case "GET /tickets":
		_, _ = fmt.Fprintf(w, `[{"id": 7, "summary": %q}]`, r.URL.Query().Get("q"))
	default:
		http.NotFound(w, r)
	}
}

// here returns a copy of the configuration for an API on this machine.
func here(t *testing.T, url string) string {
	t.Helper()
	content, err := os.ReadFile("a2a-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(content), "https://tickets.example.com", url)
	text = strings.ReplaceAll(text, "    header: {Auth", "    networks: [127.0.0.1]\n    header: {Auth")
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	api := &tickets{}
	server := httptest.NewServer(api)
	defer server.Close()
	s := a2aservertest.New(t, testserver.Config{File: here(t, server.URL), Environment: []string{"TICKETS_TOKEN=s3cret"}}.Must(t))

	found := s.Send(`/find_tickets text="slow & steady?"`)
	if got, want := s.Text(s.Wait(found.ID, a2a.TaskStateCompleted)), `[{"id":7,"summary":"slow & steady?"}]`; !strings.Contains(got, want) {
		t.Errorf("find_tickets returned %s, want %s", got, want)
	}

	asked := s.Send(`/create_ticket project=web summary="The login page is slow"`)
	s.Wait(asked.ID, a2a.TaskStateInputRequired)
	api.mu.Lock()
	if len(api.seen) > 0 {
		t.Error("the request was made before it was approved")
	}
	api.mu.Unlock()
	s.Approve(asked)
	if got, want := strings.TrimSpace(s.Text(s.Wait(asked.ID, a2a.TaskStateCompleted))), `{"id":1}`; got != want {
		t.Errorf("create_ticket returned %s, want %s", got, want)
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if got, want := strings.Join(api.seen, "\n"), "map[summary:The login page is slow]"; got != want {
		t.Errorf("the API got %s, want %s", got, want)
	}
}
