package builtin

import (
	"context"
	"iter"
	"strings"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type streamArgs struct {
	Chunks   int    `json:"chunks" jsonschema:"description=How many pieces,minimum=1,maximum=100000,default=10"`
	Size     int    `json:"size" jsonschema:"description=Bytes of each piece,minimum=1,maximum=65536,default=64"`
	Interval string `json:"interval" jsonschema:"description=Time between two pieces such as 10ms or 1.5s,pattern=^([0-9]+([.][0-9]+)?(us|ms|s|m|h))+$,default=0s"`
}

// line is the text that a stream repeats. Each piece continues where the previous piece ended,
// so a reader can see whether a piece is missing or repeated.
const line = "every event is on the disk before anybody sees it; "

func newStream() tool.Tool {
	return functiontool.Must(functiontool.NewStreaming(functiontool.Config{
		Name:        "stream",
		Description: "Streams text in pieces, as many and as large as asked for",
		Annotations: tool.Annotations{ReadOnly: true},
	}, stream))
}

func stream(ctx tool.Context, a streamArgs) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		interval, err := time.ParseDuration(a.Interval)
		if err != nil {
			yield(nil, tool.Invalid("/interval", "is not a duration: %v", err))
			return
		}
		// Every piece is a slice of this string, so none is built twice.
		text := strings.Repeat(line, a.Size/len(line)+2)
		for i := range a.Chunks {
			if i > 0 && interval > 0 {
				select {
				case <-time.After(interval):
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			at := i * a.Size % len(line)
			if !yield(&tool.Result{Content: text[at : at+a.Size], Streaming: true}, nil) {
				return
			}
		}
	}
}
