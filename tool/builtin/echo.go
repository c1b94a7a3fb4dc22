package builtin

import (
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type echoArgs struct {
	Text string `json:"text" jsonschema:"description=What to say,example=hello"`
}

func newEcho() tool.Tool {
	return functiontool.Must(functiontool.New(functiontool.Config{
		Name:        "echo",
		Description: "Says the text again",
		Annotations: tool.Annotations{ReadOnly: true, Idempotent: true},
	}, func(_ tool.Context, a echoArgs) (string, error) { return a.Text, nil }))
}
