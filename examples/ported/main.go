// Command ported has tools that were written for other frameworks, each with a table of the
// differences: a tool from ADK's samples, in which the decision has a payload, and two tools
// from a framework with confirmation providers.
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func config() a2aserver.Config {
	return a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("ported",
		functiontool.Must(newTimeOff()), functiontool.Must(newTransfer()), functiontool.Must(newWipe()),
	)}}
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
