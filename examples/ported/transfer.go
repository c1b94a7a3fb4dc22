package main

import (
	"fmt"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// large is the amount above which a transfer asks.
const large = 10_000

// transfer are the arguments of transfer.
type transfer struct {
	Amount int64  `json:"amount" jsonschema:"minimum=1"`
	To     string `json:"to" jsonschema:"minLength=1"`
}

// newTransfer ports a tool written for a framework with a confirmation provider: it asks while
// it runs, and only about large amounts.
//
//	there                                         here
//	gets its arguments as JSON and decodes        gets them decoded and checked against a
//	them itself, ignoring errors                  schema
//	RequestConfirmation blocks until the          the call is suspended, on disk, and runs
//	provider has answered, and a restart          again from its beginning after the decision:
//	loses the call                                nothing may happen before the question
//	without a provider the transfer runs          the client of the task is asked
//	without a question
//	a rejection is ErrConfirmationRejected,       likewise
//	to be returned
//	a provider that fails fails the call          the call stays pending, and the client is
//	                                              asked
func newTransfer() (tool.CallableTool, error) {
	return functiontool.New(functiontool.Config{
		Name: "transfer", Description: "Transfers an amount to somebody. Amounts above 10000 have to be confirmed.",
	}, func(ctx tool.Context, t transfer) (string, error) {
		if t.Amount > large {
			if err := tool.RequestConfirmation(ctx, fmt.Sprintf("Transfer %d to %s?", t.Amount, t.To), t); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("transferred %d to %s", t.Amount, t.To), nil
	})
}

// newWipe ports a tool with the declaration that every call needs an approval, whatever its
// arguments are. There, without a provider, that declaration has no effect; here it always
// has.
func newWipe() (tool.CallableTool, error) {
	return functiontool.New(functiontool.Config{
		Name: "delete_records", Description: "Deletes all records of a table.", RequireApproval: true,
		Annotations: tool.Annotations{Destructive: true},
	}, func(_ tool.Context, a struct {
		Table string `json:"table" jsonschema:"minLength=1"`
	}) (string, error) {
		return "deleted all records of " + a.Table, nil
	})
}
