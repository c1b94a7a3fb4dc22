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
	return functiontool.Must(functiontool.NewStreaming(functiontool.Config{
		Name:        FinishName,
		Description: "Ends the task with its answer. Call it alone, when everything is done.",
		Annotations: tool.Annotations{ReadOnly: true},
	}, func(ctx tool.Context, f finish) iter.Seq2[*tool.Result, error] {
		ctx.Actions().SkipSummarization, ctx.Actions().WithholdResult = true, true
		return only(f.Text)
	}))
}

// escalate are the arguments of escalate.
type escalate struct {
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=2000" jsonschema_description:"Why you cannot do it, and what is needed."`
}

// Escalate returns the tool escalate. Its argument is reason, which is its result. It sets
// Escalate: the task ends as rejected, with the reason, and whoever asked decides what follows.
func Escalate() tool.Tool {
	return functiontool.Must(functiontool.NewStreaming(functiontool.Config{
		Name:        EscalateName,
		Description: "Gives the task back to whoever asked for it, because you cannot or must not do it. It ends the task.",
		Annotations: tool.Annotations{ReadOnly: true},
	}, func(ctx tool.Context, e escalate) iter.Seq2[*tool.Result, error] {
		ctx.Actions().Escalate = true
		return only(e.Reason)
	}))
}

// only returns a result that comes whole.
func only(text string) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) { yield(&tool.Result{Content: text}, nil) }
}
