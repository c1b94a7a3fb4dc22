// Command planner turns messages into calls with its own rules: "move 5 from a to b" becomes
// a withdrawal and, if that succeeds, a deposit.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"strings"
	"syscall"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

// mover is a task.Planner without state: its plan is in the task's log.
type mover struct{}

// Inline reports that Plan is pure and fast.
func (mover) Inline() bool { return true }

// Accept answers messages that Plan would not understand, so that they do not become tasks.
func (mover) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	if _, err := read(r.Message); err != nil {
		return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(err.Error())), nil
	}
	return nil, nil
}

// Plan returns the next step.
func (mover) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	m, err := read(p.Messages[0].Message)
	if err != nil {
		return nil, err
	}
	done := len(p.Steps)
	if done > 0 && p.Steps[done-1].Calls[0].Outcome != task.OutcomeOK {
		return &task.Step{End: &task.End{State: a2a.TaskStateFailed}}, nil
	}
	switch done {
	case 0:
		return call("withdraw", m.from, m.amount)
	case 1:
		return call("deposit", m.to, m.amount)
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

func call(name, account string, amount int) (*task.Step, error) {
	args, err := task.EncodeArgs(booking{account, amount})
	return &task.Step{Calls: []task.PlannedCall{{Tool: name, Args: args}}}, err
}

type move struct {
	amount   int
	from, to string
}

func read(m *a2a.Message) (move move, err error) {
	var text strings.Builder
	for _, p := range m.Parts {
		text.WriteString(p.Text())
	}
	if _, err := fmt.Sscanf(text.String(), "move %d from %s to %s", &move.amount, &move.from, &move.to); err != nil {
		return move, errors.New(`write "move AMOUNT from ACCOUNT to ACCOUNT"`)
	}
	return move, nil
}

type booking struct {
	Account string `json:"account"`
	Amount  int    `json:"amount"`
}

func config() a2aserver.Config {
	book := func(name string, ask bool) tool.Tool {
		return functiontool.Must(functiontool.New(functiontool.Config{Name: name, RequireApproval: ask},
			func(_ tool.Context, b booking) (string, error) {
				return fmt.Sprint(name, " ", b.Amount, " ", b.Account), nil
			}))
	}
	return a2aserver.Config{Planner: mover{}, Tools: []tool.Toolset{tool.NewToolset("bank", book("withdraw", true), book("deposit", false))}}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server, err := a2aserver.New(config())
	if err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
