package main

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	in, typed := io.Pipe()
	written, out := io.Pipe()
	c, err := config(in, out)
	if err != nil {
		t.Fatal(err)
	}
	// An error of the console, such as its end, fails the call instead of asking the client.
	c.Settings = a2aserver.DefaultSettings()
	c.Settings.ProviderError = a2aserver.FailCall
	s := a2aservertest.New(t, c)
	shown := bufio.NewReader(written)
	// on waits for a prompt, and then types an answer.
	on := func(prompt, answer string) {
		t.Helper()
		for seen := ""; !strings.HasSuffix(seen, prompt); {
			b, err := shown.ReadByte()
			if err != nil {
				t.Fatalf("%v after %q, want %q", err, seen, prompt)
			}
			seen += string(b)
		}
		if _, err := io.WriteString(typed, answer+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	// send sends a message in a context, which waits for the console.
	send := func(context, text string) <-chan *a2a.Task {
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
		m.ContextID = context
		sent := make(chan *a2a.Task, 1)
		go func() { sent <- s.SendMessage(m) }()
		return sent
	}
	ends := func(sent <-chan *a2a.Task, want a2a.TaskState, text string) *a2a.Task {
		t.Helper()
		task := <-sent
		got := s.Wait(task.ID, want)
		says := s.Text(got)
		if m := got.Status.Message; m != nil {
			says += m.Parts[0].Text()
		}
		if !strings.Contains(says, text) {
			t.Errorf("the task says %q, want %q", says, text)
		}
		return task
	}

	paid := send("", "/pay amount=700 to=bob")
	on("m (modify): ", "") // there is no default
	on("m (modify): ", "m")
	on("amount [700]: ", "7")
	on(`to ["bob"]: `, "")
	ends(paid, a2a.TaskStateCompleted, "paid 7 to bob")

	paid = send("", "/pay amount=700 to=casino")
	on("m (modify): ", "n")
	on("(optional): ", "not with our money")
	ends(paid, a2a.TaskStateCanceled, "not with our money")

	refunded := send("", "/refund amount=5 to=bob")
	on("m (modify): ", "y")
	first := ends(refunded, a2a.TaskStateCompleted, "refunded 5 to bob")
	ends(send(first.ContextID, "/refund amount=5 to=bob"), a2a.TaskStateCompleted, "refunded 5 to bob") // nobody is asked again

	closes := s.Send("/close_account amount=5 to=bob")
	s.Wait(closes.ID, a2a.TaskStateInputRequired)
	s.Approve(closes)
	s.Wait(closes.ID, a2a.TaskStateCompleted)

	if err := typed.Close(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, shown) // until the pipe ends
	}()
	ends(send("", "/pay amount=1 to=bob"), a2a.TaskStateFailed, "unexpected EOF")
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	<-read
}
