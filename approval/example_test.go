package approval_test

import (
	"fmt"

	"a2a-server/approval"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// A policy asks about some calls, refuses others, and lets the rest run.
func ExamplePolicy_Judge() {
	type transfer struct {
		Amount int    `json:"amount"`
		To     string `json:"to"`
	}
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay"}, func(tool.Context, transfer) (string, error) { return "paid", nil }))
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Name: "payments", Tool: "pay", Action: approval.ActionAsk, Hint: "Pay {amount} to {to}?"},
		{Name: "no deletes", Tool: "delete*", Action: approval.ActionDeny},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := policy.Judge(nil, pay, map[string]any{"amount": 5, "to": "bob"})
	fmt.Println(v.Action)
	fmt.Println(v.Hint)
	// Output:
	// ask
	// Pay 5 to "bob"?
}
