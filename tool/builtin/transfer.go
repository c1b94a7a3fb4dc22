package builtin

import (
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type transferArgs struct {
	Amount float64 `json:"amount" jsonschema:"description=How much,example=250,example=5000,exclusiveMinimum=0"`
	To     string  `json:"to" jsonschema:"description=Who gets it,example=alice,minLength=1,maxLength=256"`
}

// transferred is the result. Ledger identifies the line that the run wrote.
type transferred struct {
	Amount float64 `json:"transferred"`
	To     string  `json:"to"`
	Ledger string  `json:"ledger"`
}

func newTransfer(l *ledger) tool.Tool {
	return functiontool.Must(functiontool.New(functiontool.Config{
		Name:            "transfer_money",
		Description:     "Transfers money. It only pretends to: each run leaves a line in the ledger file",
		RequireApproval: true,
		Annotations:     tool.Annotations{Destructive: true},
	}, func(ctx tool.Context, a transferArgs) (transferred, error) {
		task, call := ctx.TaskID(), ctx.FunctionCallID()
		if err := l.add(task, call, a); err != nil {
			return transferred{}, err
		}
		return transferred{Amount: a.Amount, To: a.To, Ledger: task + "/" + call}, nil
	}))
}
