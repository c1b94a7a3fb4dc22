// Command a2a-server serves the A2A protocol: it takes messages, runs tools, and asks
// a person before it runs those that need approval.
//
//	a2a-server serve            serve until told to end
//	a2a-server config check     say what is wrong with the configuration
//	a2a-server help             say all that there is
//
// It exits with 0 when all went well, 1 when something failed, and 2 when the
// command line or the configuration is wrong.
package main

import (
	"context"
	"os"

	"a2a-server/internal/app"
)

func main() {
	os.Exit(app.Run(context.Background(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
