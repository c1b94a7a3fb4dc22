// Command a2a-server serves the A2A protocol: it takes messages, runs tools, and asks a person
// before it runs a tool that needs approval.
//
//	a2a-server serve            serve until told to stop
//	a2a-server config check     report all problems of the configuration
//	a2a-server tools list       list the tools and their gates
//	a2a-server help             list the commands
//
// It exits with 0 on success, 1 when something failed, 2 when the command line or the
// configuration is invalid, and 3 when a call was not approved; docs/admin.md has more.
package main

import (
	"context"
	"os"

	"a2a-server/cmd/a2a-server/internal/app"
)

func main() {
	os.Exit(app.Run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
