// Package builtin provides the demo tools that every server comes with: an immediate tool, a
// streaming tool, and a tool that needs approval. They touch nothing outside the server's own
// data folder. The package knows neither tasks nor approvals: it only declares that a call
// needs approval.
package builtin

import (
	"errors"
	"time"

	"a2a-server/tool"
)

// Config configures the tools.
type Config struct {
	// Ledger is the file that transfer_money appends to, a line per run. The first run creates
	// it; its folder must exist. Required.
	Ledger string
	Now    func() time.Time // Defaults to time.Now.
}

// New returns the toolset with echo, stream and transfer_money. It does not touch the file.
func New(c Config) (tool.Toolset, error) {
	if c.Ledger == "" {
		return nil, errors.New("built-in tools: the path of the ledger is missing")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return tool.NewToolset("builtin", newEcho(), newStream(), newTransfer(&ledger{path: c.Ledger, now: c.Now})), nil
}
