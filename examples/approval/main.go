// Command approval pays small amounts without asking, asks a person about larger amounts, and
// has a house rule that may answer before the person does.
package main

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"strings"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

type payment struct {
	Amount int64  `json:"amount" jsonschema:"minimum=1"`
	To     string `json:"to"`
}

// gate asks about payments above 100.
func gate(_ agent.ReadonlyContext, p payment) (ask bool, err error) { return p.Amount > 100, nil }

// hint tells who decides what a payment does. A value that the configuration masks is ••• in p.
func hint(_ agent.ReadonlyContext, p payment) (string, error) {
	return fmt.Sprintf("pays %d to %s, which is more than 100", p.Amount, p.To), nil
}

// house rejects payments to casinos, and leaves all others to the person.
func house(_ context.Context, a approval.Approval) (approval.Decision, error) {
	if strings.Contains(string(a.Args), "casino") {
		return approval.Decision{Type: approval.Reject, Reason: "the house pays no casinos"}, nil
	}
	return approval.Decision{}, nil
}

func config() a2aserver.Config {
	pay := functiontool.Must(functiontool.New(functiontool.Config{
		Name: "pay", Description: "Pays somebody", Gate: functiontool.Gate(gate), HintFunc: functiontool.Hint(hint), Annotations: tool.Annotations{Destructive: true},
	}, func(_ tool.Context, p payment) (string, error) {
		return fmt.Sprintf("paid %d to %s", p.Amount, p.To), nil
	}))
	return a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("bank", pay)}, Decider: house}
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
