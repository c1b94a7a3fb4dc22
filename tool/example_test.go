package tool_test

import (
	"fmt"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// A toolset of somebody else's gets gates without being changed.
func ExampleWithConfirmation() {
	type file struct {
		Path string `json:"path"`
	}
	remove := functiontool.Must(functiontool.New(functiontool.Config{Name: "remove"}, func(_ tool.Context, f file) (string, error) { return "removed " + f.Path, nil }))
	list := functiontool.Must(functiontool.New(functiontool.Config{Name: "list"}, func(tool.Context, struct{}) ([]string, error) { return []string{"a", "b"}, nil }))
	files := tool.NewToolset("files", remove, list)

	gated := tool.WithConfirmation(files, tool.ConfirmNamed("remove"))
	tools, err := gated.Tools(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range tools {
		ask, _ := tool.NeedsApproval(nil, t, nil)
		fmt.Println(t.Name(), ask)
	}
	// Output:
	// remove true
	// list false
}
