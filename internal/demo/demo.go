// Package demo has what a server shows that nobody has configured: a gate with four_eyes, sample
// calls for the page to try it, and a scripted model, which stands in for a language model.
package demo

import (
	"fmt"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/task/inbox/web"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// transferTool is the tool of package builtin that asks.
const transferTool = "transfer_money"

// Gate returns the gate of the demo: large transfers are decided by another person than the
// requester, who is the persona of the pages (see [web.Demo]).
func Gate() (approval.Gate, error) {
	large, err := condition.Compile("args.amount >= 1000")
	if err != nil {
		return approval.Gate{}, fmt.Errorf("gate of the demo: %w", err)
	}
	return approval.Gate{Name: "large_transfers", Tool: transferTool, Condition: large, Terms: approval.Terms{
		FourEyes: true,
		Allowed:  []approval.DecisionType{approval.Approve, approval.Reject, approval.Cancel}, // an edit would need a third person
	}}, nil
}

// Samples returns a message for each way a call can go: at once, after a decision of the requester,
// and after that of another person. Commands name the tools, with the values that their schemas
// have as examples; else the messages are plain words for the scripted model.
func Samples(definition func(name string) tool.Definition, commands bool) []web.Sample {
	texts := [...]string{"Say hello", "Pay alice 250", "Pay alice 5000"}
	if commands {
		transfer := definition(transferTool)
		texts = [...]string{direct.Example(definition("echo")), direct.Example(transfer), direct.Variant(transfer, 1)}
	}
	return []web.Sample{
		{Text: texts[0], About: "Runs at once."},
		{Text: texts[1], About: "Asks first: you decide."},
		{Text: texts[2], About: "Asks another person (four_eyes), as whom you can act."},
	}
}
