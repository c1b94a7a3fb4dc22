package controltool

import (
	"iter"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// The names of the tools.
const (
	FinishName   = "finish"   // of [Finish]
	EscalateName = "escalate" // of [Escalate]
)

// finish are the arguments of finish.
type finish struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=50000" jsonschema_description:"The whole answer, as the user is to read it."`
}

// Finish returns the tool finish. Its argument is text, the answer, which is its result. It sets
// SkipSummarization: the task ends as completed, unless another call of the same step has failed;
// and WithholdResult: the answer is published only when it ends the task.
func Finish() tool.Tool {
	return functiontool.Must(steering(FinishName, "Ends the task with its answer. Call it alone, when everything is done.", func(ctx tool.Context, f finish) string {
		ctx.Actions().SkipSummarization, ctx.Actions().WithholdResult = true, true
		return f.Text
	}))
}

// escalate are the arguments of escalate.
type escalate struct {
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=2000" jsonschema_description:"Why you cannot do it, and what is needed."`
}

// Escalate returns the tool escalate. Its argument is reason, which is its result. It sets
// Escalate: the task ends as rejected, with the reason, and the requester decides.
func Escalate() tool.Tool {
	const description = "Gives the task back to whoever asked for it, because you cannot or must not do it. It ends the task."
	return functiontool.Must(steering(EscalateName, description, func(ctx tool.Context, e escalate) string {
		ctx.Actions().Escalate = true
		return e.Reason
	}))
}

// steering returns a tool that sets actions, and has the text that steer returns for its whole result.
func steering[A any](name, description string, steer func(tool.Context, A) string) (tool.StreamingTool, error) {
	return functiontool.NewStreaming(functiontool.Config{Name: name, Description: description, Annotations: tool.Annotations{ReadOnly: true}},
		func(ctx tool.Context, a A) iter.Seq2[*tool.Result, error] {
			text := steer(ctx, a)
			return func(yield func(*tool.Result, error) bool) { yield(&tool.Result{Content: text}, nil) }
		})
}
