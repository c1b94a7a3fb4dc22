// Command hello is an A2A server with two tools of its own.
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

type person struct {
	Name string `json:"name" jsonschema:"description=Name of the person"`
}

func tools() tool.Toolset {
	greet := functiontool.Must(functiontool.New(functiontool.Config{Name: "greet", Description: "Greets a person"},
		func(_ tool.Context, p person) (string, error) { return "hello " + p.Name, nil }))
	fire := functiontool.Must(functiontool.New(functiontool.Config{Name: "fire", Description: "Dismisses a person", RequireApproval: true},
		func(_ tool.Context, p person) (string, error) { return p.Name + " is dismissed", nil }))
	return tool.NewToolset("people", greet, fire)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	settings := a2aserver.DefaultSettings()
	settings.Listen = "127.0.0.1:8080"
	server, err := a2aserver.New(a2aserver.Config{Settings: settings, Tools: []tool.Toolset{tools()}})
	if err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
