// Command confirm asks at its own terminal before a tool runs, by strategies in Haystack's form: it
// asks about pay each time, about a refund once for the same arguments, and leaves close_account to
// the client.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/approval/confirm"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

//go:embed strategies.json
var strategies []byte

type payment struct {
	Amount int64  `json:"amount" jsonschema:"minimum=1"`
	To     string `json:"to"`
}

// bank returns tools that all require approval.
func bank() tool.Toolset {
	of := func(name, does, did string) tool.Tool {
		return functiontool.Must(functiontool.New(functiontool.Config{Name: name, Description: does, RequireApproval: true}, func(_ tool.Context, p payment) (string, error) {
			return fmt.Sprintf("%s %d to %s", did, p.Amount, p.To), nil
		}))
	}
	return tool.NewToolset("bank", of("pay", "Pays somebody", "paid"), of("refund", "Refunds a payment", "refunded"), of("close_account", "Pays the rest out", "closed: paid"))
}

// config returns a server whose strategies ask on in and out.
func config(in io.Reader, out io.Writer) (a2aserver.Config, error) {
	var form map[string]any
	if err := json.Unmarshal(strategies, &form); err != nil {
		return a2aserver.Config{}, err
	}
	s, err := confirm.StrategiesFromMap(form, confirm.Kinds{In: in, Out: out})
	if err != nil {
		return a2aserver.Config{}, err
	}
	return a2aserver.Config{Tools: []tool.Toolset{bank()}, Decider: s.Decider(nil)}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, err := config(os.Stdin, os.Stdout)
	if err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
	server, err := a2aserver.New(c)
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
