package push_test

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

func a2aID(id store.TaskID) a2a.TaskID { return a2a.TaskID(id.String()) }

func textParts(text string) a2a.ContentParts { return a2a.ContentParts{a2a.NewTextPart(text)} }

// must, and need, panic with what the preparation of a test failed with.
func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
