package main

import (
	"os"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/internal/golden"
	"a2a-server/tool"
)

//go:generate go test -count=1 -run ^TestDocument$ . -update

// The program of docs/library.md is this one.
func TestDocument(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	golden.Section(t, "../../docs/library.md", "hello", "```go\n"+string(program)+"```\n")
}

func TestHello(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tools()}})
	if got := s.Send("/greet name=Ada"); s.Text(got) != "hello Ada" {
		t.Errorf("greet: %s, %q", got.Status.State, s.Text(got))
	}
	asked := s.Send("/fire name=Ada")
	if asked.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("fire: %s", asked.Status.State)
	}
	s.Approve(asked)
	if done := s.Wait(asked.ID, a2a.TaskStateCompleted); s.Text(done) != "Ada is dismissed" {
		t.Errorf("fire: %q", s.Text(done))
	}
}
