package call

import (
	"fmt"

	"a2a-server/task"
	"a2a-server/tool"
)

// Prepare has the request processors among the tools of a task change a request to a model, in
// order. by is the context of the task's owner.
func (c *Runs) Prepare(by *task.ReadonlyContext, tools []tool.Tool, r *tool.Request) error {
	for _, t := range tools {
		p, is := tool.As[tool.RequestProcessor](t)
		if !is {
			continue
		}
		if err := process(p, &jobContext{ReadonlyContext: *by, runs: c}, r); err != nil {
			return fmt.Errorf("the tool %s prepares the request to the model: %w", t.Name(), err)
		}
	}
	return nil
}

func process(p tool.RequestProcessor, ctx tool.Context, r *tool.Request) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return p.ProcessRequest(ctx, r)
}
