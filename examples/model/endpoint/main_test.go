package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/internal/demo"
	"a2a-server/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The configuration of the example works with the script, and so do words that the script does not
// know.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.HandlerFunc(demo.Complete))
	t.Cleanup(endpoint.Close)
	s := a2aservertest.New(t, testserver.Config{File: "../a2a-server.yaml", Set: map[string]string{"planner.llm.url": endpoint.URL + "/v1"}}.Must(t))
	s.Wait(s.Send("Hello").ID, a2a.TaskStateCompleted)
	asked := s.Send("Please transfer 250 to alice")
	s.Wait(asked.ID, a2a.TaskStateInputRequired)
	s.Approve(asked)
	if done := s.Wait(asked.ID, a2a.TaskStateCompleted); !strings.Contains(s.Text(done), `The tool says: {"`) || !strings.Contains(s.Text(done), `"transferred":250`) {
		t.Errorf("the text is %q", s.Text(done))
	}
	resp, err := http.Post(endpoint.URL+"/v1/chat/completions", "application/json", strings.NewReader("{}")) //nolint:noctx // it is on this machine
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("an empty conversation is answered with %d", resp.StatusCode)
	}
}
