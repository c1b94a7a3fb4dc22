package toolset

import (
	"fmt"
	"path/filepath"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/tool"
	"a2a-server/tool/approvaltool"
	"a2a-server/tool/builtin"
	"a2a-server/tool/controltool"
)

// buildBuiltin makes the tools of an entry.
func buildBuiltin(w *maker, e *entry) (key string, err error) {
	tools := make([]tool.Tool, 1)
	switch e.config.Name {
	case "demo":
		var set tool.Toolset
		if set, err = builtin.New(builtin.Config{Ledger: ledger(w.Operator)}); err == nil {
			tools, err = set.Tools(nil)
		}
	case approvaltool.AskUserName:
		tools[0], err = approvaltool.NewAskUser()
	case approvaltool.RequestName:
		tools[0], err = approvaltool.NewRequest()
	case controltool.FinishName:
		tools[0] = controltool.Finish()
	case controltool.EscalateName:
		tools[0] = controltool.Escalate()
	default:
		err = fmt.Errorf("there is no built-in tool %s", e.config.Name)
	}
	if err != nil {
		return "builtin", err
	}
	e.made = tool.NewToolset(e.name(), tools...)
	return "", nil
}

// ledger returns the file of the built-in tool transfer_money.
func ledger(conf *config.Config) string { return filepath.Join(conf.Data, "ledger.jsonl") }
