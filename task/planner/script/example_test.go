package script_test

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/planner/script"
)

func ExampleLoad() {
	planner, err := script.Load(strings.NewReader(`
scenarios:
  - name: greeting
    when: {text: hello}
    steps:
      - message: "hello to you"
`), "greetings.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	answer, err := planner.Accept(nil, &task.Request{Message: hello})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Parts[0].Text())
	// Output:
	// hello to you
}
