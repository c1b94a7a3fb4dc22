package toolset

import (
	"errors"
	"fmt"

	"a2a-server/a2a/agenttool"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/tool"
	"a2a-server/tool/controltool"
)

// maxToolName is the length of the name of a tool.
const maxToolName = 64

// buildAgent makes the toolset of an entry. It does not connect.
func buildAgent(w *maker, e *entry) (key string, err error) {
	c := &e.config
	out := agenttool.Config{
		Name: c.Name, Description: c.About, Card: c.Card, Depth: c.Depth, Timeout: c.Timeout,
		Allow: c.Networks, Own: w.Own, Approve: w.approval(c), Logger: w.Log, Header: w.headers(c),
	}
	if c.Bearer != "" {
		if _, has := out.Header["Authorization"]; has {
			return "header", errors.New("there is a bearer token, too; remove one of the two")
		}
		out.Header["Authorization"] = w.secrets.filled("Bearer {secret:" + c.Bearer + "}")
	}
	out.Identity = identity([]any{c.Header, c.Bearer})
	var beside []tool.Tool
	if c.Transfer {
		if most := maxToolName - len(config.TransferPrefix); len(c.Name) > most {
			return "transfer", fmt.Errorf("the name of the tool %s%s would be too long; write a name of at most %d characters", config.TransferPrefix, c.Name, most)
		}
		transfer, err := controltool.TransferTo(c.Name, "")
		if err != nil {
			return "transfer", err
		}
		beside = append(beside, transfer)
	}
	set, err := agenttool.New(out, beside...)
	if err != nil {
		return "card", err
	}
	e.made = set
	return "", nil
}
