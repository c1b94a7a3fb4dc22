package functiontool_test

import (
	"encoding/json"
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
		Gate:        functiontool.Gate(func(_ agent.ReadonlyContext, a args) (bool, error) { return a.Recursive, nil }),
		HintFunc:    functiontool.Hint(func(_ agent.ReadonlyContext, a args) (string, error) { return "deletes all of " + a.Path, nil }),
	}, func(_ tool.Context, a args) (string, error) {
		return "deleted " + a.Path, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(tool.NeedsApproval(nil, del, map[string]any{"path": "/tmp", "recursive": true}))
	fmt.Println(tool.Hint(nil, del, map[string]any{"path": tool.Masked{}, "recursive": true}))
	fmt.Println(del.Call(nil, map[string]any{"path": "/tmp/x"}))
	fmt.Println(del.Call(nil, map[string]any{"file": "/tmp/x"}))
	// Output:
	// true <nil>
	// deletes all of ••• <nil>
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

// A tool that starts a build at another service and waits for it: the server keeps the id of
// the build and polls, also after restarts.
func ExampleNewPoller() {
	type args struct {
		Branch string `json:"branch" jsonschema:"the branch to build"`
	}
	type job struct {
		ID   string `json:"id"`
		Seen int    `json:"seen"`
	}
	build, err := functiontool.NewPoller(functiontool.Config{Name: "build", Description: "Builds a branch"}, functiontool.Job[args, job, string]{
		Start: func(_ tool.Context, a args) (job, error) { return job{ID: "build-" + a.Branch}, nil },
		Poll: func(_ tool.Context, j *job) (string, bool, error) {
			j.Seen++
			return j.ID + " has passed", j.Seen == 2, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// What the server does:
	c, _ := tool.As[tool.CallableTool](build)
	started, err := c.Call(nil, map[string]any{"branch": "main"})
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := json.Marshal(started)
	for result := (*tool.Result)(nil); result == nil && err == nil; {
		fmt.Println("waits for", string(state))
		var next json.RawMessage
		if result, next, err = build.Poll(nil, state); result != nil {
			fmt.Println("done:", result.Content)
		}
		state = next
	}
	// Output:
	// waits for {"job":{"id":"build-main","seen":0}}
	// waits for {"job":{"id":"build-main","seen":1}}
	// done: map[result:build-main has passed]
}
