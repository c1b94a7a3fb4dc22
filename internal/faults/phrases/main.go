// Command phrases is a2a-server serve for tests, with a planner that understands a few phrases.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/internal/testserver"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/builtin"
)

// plans are the first steps of tasks, by a phrase in their message. All end well then.
var plans = map[string]task.Step{
	"pay the rent":   transfers(`{"amount":900,"to":"landlord"}`),
	"pay both bills": transfers(`{"amount":60,"to":"power"}`, `{"amount":40,"to":"water"}`),
	"say hello":      {Calls: []task.PlannedCall{{Tool: "echo", Args: []byte(`{"text":"hello"}`)}}},
	"tell a story":   {Calls: []task.PlannedCall{{Tool: "stream", Args: []byte(`{"chunks":3,"interval":"1ms","size":8}`)}}},
	"wait long":      {Wait: time.Hour},
	"wait short":     {Wait: 50 * time.Millisecond},
}

func transfers(args ...string) task.Step {
	var s task.Step
	for _, a := range args {
		s.Calls = append(s.Calls, task.PlannedCall{Tool: "transfer_money", Args: []byte(a)})
	}
	return s
}

type phrases struct{}

func (phrases) Inline() bool { return true }

// Accept answers a message without a phrase.
func (phrases) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	for phrase := range plans {
		if strings.Contains(r.Message.Parts[0].Text(), phrase) {
			return nil, nil
		}
	}
	m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("That is no phrase of mine."))
	m.ContextID = r.Message.ContextID
	return m, nil
}

func (phrases) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	end := &task.End{State: a2a.TaskStateCompleted}
	for phrase, step := range plans {
		if !strings.Contains(p.Messages[0].Message.Parts[0].Text(), phrase) {
			continue
		}
		if len(p.Steps) == 0 {
			return &step, nil
		}
		if strings.HasPrefix(phrase, "pay") {
			end.Message = &a2a.Message{ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.Task)).String(), Role: a2a.MessageRoleAgent, Parts: []*a2a.Part{a2a.NewTextPart("Done.")}}
		}
	}
	return &task.Step{End: end}, nil
}

func main() {
	c := testserver.Config{Planner: phrases{}, Set: map[string]string{"limits.grace": "2s"}}
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	flags.StringVar(&c.File, "config", "", "")
	for _, name := range []string{"listen", "data", "store"} {
		flags.Func(name, "", func(value string) error { c.Set[name] = value; return nil })
	}
	_ = flags.Parse(os.Args[2:]) // it exits
	demo, err := builtin.New(builtin.Config{Ledger: filepath.Join(c.Set["data"], "ledger.jsonl")})
	if err != nil {
		log.Fatal(err)
	}
	c.DefaultTools = []tool.Toolset{demo}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := testserver.New(c)
	if err == nil {
		err = server.Run(ctx)
	}
	if err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
}
