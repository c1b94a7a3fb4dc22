package a2aservertest_test

import (
	"errors"
	"iter"
	"testing"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// limited wraps a streaming tool and refuses its calls.
type limited struct {
	tool.Tool
	inner tool.StreamingTool
}

func (l limited) Unwrap() tool.Tool      { return l.inner }
func (l limited) Schema() map[string]any { return l.inner.Schema() }
func (l limited) Call(tool.Context, map[string]any) (map[string]any, error) {
	return nil, errors.New("over the limit")
}

// The Call of a wrapper runs, also if the tool in it streams.
func TestWrapperRunsItself(t *testing.T) {
	t.Parallel()
	paid := false
	inner, err := functiontool.NewStreaming(functiontool.Config{Name: "pay"}, func(tool.Context, payment) iter.Seq2[*tool.Result, error] {
		return func(yield func(*tool.Result, error) bool) {
			paid = true
			yield(&tool.Result{Content: "paid"}, nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{tool.NewToolset("bank", limited{inner, inner})}}.Must(t)).Send("/pay amount=500")
	if paid {
		t.Error("the wrapped tool ran in place of its wrapper")
	}
}
