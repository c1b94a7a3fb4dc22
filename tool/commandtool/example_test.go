//go:build linux || darwin

package commandtool_test

import (
	"context"
	"fmt"

	"a2a-server/tool/commandtool"
)

// A placeholder is part of one argument, whatever its value contains.
func ExampleNew() {
	greet, err := commandtool.New(commandtool.Config{
		Name:        "greet",
		Description: "Greets somebody",
		Run:         []string{"printf", "<%s>\n", "Hello {name}"},
		Args:        map[string]commandtool.Arg{"name": {Keywords: map[string]any{"maxLength": 50}}},
		Env:         map[string]string{"PATH": "/usr/bin:/bin"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := call{Context: context.Background(), task: "t1", id: "c1"} // the engine makes it
	for result, err := range greet.CallStreaming(ctx, map[string]any{"name": "World; rm -rf $HOME"}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case result.Streaming:
			fmt.Print(result.Content)
		}
	}
	// Output:
	// <Hello World; rm -rf $HOME>
}
