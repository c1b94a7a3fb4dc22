package functiontool_test

import (
	"fmt"
	"iter"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

func ExampleNew() {
	type args struct {
		Path      string `json:"path" jsonschema:"description=What to delete"`
		Recursive bool   `json:"recursive,omitempty"`
	}
	del, err := functiontool.New(functiontool.Config{
		Name:        "delete",
		Description: "Deletes a file, or a folder with all that is in it",
		Annotations: tool.Annotations{Destructive: true},
		Gate: functiontool.Gate(func(_ agent.ReadonlyContext, a args) (bool, string, error) {
			return a.Recursive, "deletes all of " + a.Path, nil
		}),
	}, func(_ tool.Context, a args) (string, error) {
		return "deleted " + a.Path, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(tool.NeedsApproval(nil, del, map[string]any{"path": "/tmp", "recursive": true}))
	fmt.Println(del.Call(nil, map[string]any{"path": "/tmp/x"}))
	fmt.Println(del.Call(nil, map[string]any{"file": "/tmp/x"}))
	// Output:
	// true deletes all of /tmp <nil>
	// map[result:deleted /tmp/x] <nil>
	// map[] invalid: at /file: is not a known name; at /path: is missing
}

func ExampleNewStreaming() {
	type args struct {
		From int `json:"from" jsonschema:"default=3"`
	}
	countdown, err := functiontool.NewStreaming(functiontool.Config{
		Name:        "countdown",
		Description: "Counts down to zero",
	}, func(_ tool.Context, a args) iter.Seq2[*tool.Result, error] {
		return func(yield func(*tool.Result, error) bool) {
			for n := a.From; n > 0; n-- {
				if !yield(&tool.Result{Content: fmt.Sprint(n, " "), Streaming: true}, nil) {
					return
				}
			}
			yield(&tool.Result{Content: "done"}, nil)
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	for r, err := range countdown.CallStreaming(nil, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(r.Content)
	}
	// Output: 3 2 1 done
}
