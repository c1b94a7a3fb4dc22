// Package builtin has the tools that every server comes with, to try it by: one that
// answers at once, one that streams, and one that asks before it acts. They reach
// nothing outside of the server's own data folder. It knows neither tasks nor
// approvals: that a call has to be approved is only declared.
package builtin

import (
	"errors"
	"fmt"
	"time"

	"a2a-server/tool"
)

// Name is the name of the toolset.
const Name = "builtin"

// Config configures the tools.
type Config struct {
	// Ledger is the file that transfer_money appends to, one line for each run. It is
	// made with the first of them; its folder must exist. Required.
	Ledger string
	Now    func() time.Time // Defaults to time.Now.
}

// New returns the toolset of echo, stream and transfer_money. It touches no file.
func New(c Config) (tool.Toolset, error) {
	if c.Ledger == "" {
		return nil, errors.New("built-in tools: the path of the ledger is missing")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	echo, err := newEcho()
	if err != nil {
		return nil, fmt.Errorf("built-in tools: %w", err)
	}
	stream, err := newStream()
	if err != nil {
		return nil, fmt.Errorf("built-in tools: %w", err)
	}
	transfer, err := newTransfer(&ledger{path: c.Ledger, now: c.Now})
	if err != nil {
		return nil, fmt.Errorf("built-in tools: %w", err)
	}
	return tool.NewToolset(Name, echo, stream, transfer), nil
}
