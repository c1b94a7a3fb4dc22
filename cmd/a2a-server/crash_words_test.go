//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// wordsPlay is a chain whose last server has a command that goes on until it is let go.
func wordsPlay() *agentsPlay {
	return &agentsPlay{name: "words", servers: []string{"top", "middle", "leaf"}}
}

// killedWords has a person approve a call of an agent behind an agent by a word, kills one of the servers
// while the call runs, and repeats the word: it approves neither the outcome nor anything else, so that
// the call runs once.
func killedWords(t *testing.T, victim int) {
	files, play := t.TempDir(), wordsPlay()
	ledger, free := filepath.Join(files, "ledger"), filepath.Join(files, "free")
	play.leaf = fmt.Sprintf("  - command: led\n    description: Writes a line\n    run: [/bin/sh, -c, 'echo \"$0\" >>%s; until [ -e %s ]; do sleep 0.1; done', '{id}']\n    args: {id: {type: string}}\n", ledger, free)
	r := startAgents(t, play, victim, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := r.client(r.servers[0])
	task := ""
	say := func(id, text string) {
		t.Helper()
		m := object{"messageId": id, "role": "ROLE_USER", "parts": []any{object{"text": text}}}
		if task != "" {
			m["taskId"] = task
		}
		var sent struct{ Task *taskState }
		err := c.call(ctx, "SendMessage", object{"message": m, "configuration": object{"returnImmediately": true}}, &sent)
		if refused, is := errors.AsType[*rpcError](err); is && refused.Code == -32004 && victim < len(r.servers)-1 {
			return // the call still runs, and nobody is asked
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		task = sent.Task.ID
	}
	looks := func(what string, is func(now *taskState, asked []question) bool) {
		t.Helper()
		for {
			var now taskState
			if err := c.call(ctx, "GetTask", object{"id": task}, &now); err == nil {
				asked, err := now.Status.questions()
				if err != nil {
					t.Fatal(err)
				}
				if is(&now, asked) {
					return
				}
			}
			r.pause(ctx, what)
		}
	}
	var outcome question
	asks := func(kind string) func(*taskState, []question) bool {
		return func(_ *taskState, asked []question) bool {
			at := slices.IndexFunc(asked, func(q question) bool { return q.Kind == kind })
			if at >= 0 {
				outcome = asked[at]
			}
			return at >= 0
		}
	}
	lines := func() string {
		raw, err := os.ReadFile(ledger)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(raw)
	}
	say("first", "/middle /leaf /led id=x")
	looks("nobody is asked about the call", asks("call"))
	say("yes 1", "yes")
	looks("the call does not run", func(*taskState, []question) bool { return lines() != "" })

	r.victim.process.end(syscall.SIGKILL)
	r.revive()
	if victim == len(r.servers)-1 {
		looks("nobody is asked for the outcome", asks("outcome"))
	}
	for i := range 3 {
		say(fmt.Sprint("yes ", 1+i), "yes")
	}
	say("no", "no")
	if victim == len(r.servers)-1 {
		looks("the outcome is not open any longer", asks("outcome"))
		if err := decideAgents(ctx, c, task, object{"id": outcome.ID, "decision": "respond", "response": "it was written"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(free, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	looks("the task does not end", func(now *taskState, _ []question) bool {
		if now.Status.ended() && now.Status.State != completed {
			t.Errorf("the task is %s", now.Status.State)
		}
		return now.Status.ended()
	})
	if got := lines(); got != "x\n" {
		t.Errorf("the ledger is %q, want one line", got)
	}
}
