package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/client"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func TestApprover(t *testing.T) {
	t.Parallel()
	type payment struct {
		Amount int `json:"amount"`
	}
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "Pays", RequireApproval: true}, func(_ tool.Context, p payment) (string, error) {
		return fmt.Sprint("paid ", p.Amount), nil
	}))
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("test", pay)}})
	c, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	first := s.Send("/pay amount=1")
	in, typed := io.Pipe()
	written, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		chat(ctx, c, in, out)
	}()
	lines := bufio.NewScanner(written)
	says := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the bot says %q, want %q", lines.Text(), want)
		}
	}
	tell := func(line string) {
		t.Helper()
		if _, err := io.WriteString(typed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	says(string(first.ID) + `.a1: may "pay" run with "{\"amount\":1}" for "anonymous"?`)
	second := s.Send("/pay amount=2")
	says(`{\"amount\":2}`)
	tell("approve " + string(first.ID) + ".a1")
	says("done")
	tell("approve nothing")
	says("is missing")
	tell("reject " + string(second.ID) + ".a1 too much")
	says("done")
	s.Wait(first.ID, a2a.TaskStateCompleted)
	s.Wait(second.ID, a2a.TaskStateCanceled)
	cancel()
	go func() { _, _ = io.Copy(io.Discard, written) }() // the end of the feed
	_ = typed.Close()
	<-ended
}
