package llm

import (
	"a2a-server/task"
	"a2a-server/task/planner/llm/internal/chat"
)

// bytesPerToken is how many bytes of a request are a token, as long as the endpoint has not said
// how many there are.
const bytesPerToken = 4

// rate returns how many bytes of a request are a token, from the newest answer whose endpoint says
// so. It is bounded: no endpoint can make a conversation vanish.
func rate(steps []task.DoneStep) float64 {
	for i := len(steps) - 1; i >= 0; i-- {
		if s := stateOf(&steps[i]); s.In > 0 && s.Sent > 0 {
			return min(max(float64(s.Sent)/float64(s.In), 1), 3*bytesPerToken)
		}
	}
	return bytesPerToken
}

// shorten drops the oldest blocks that are not fixed until the request has at most so many tokens.
// The newest step stays, too: the model is waiting for its results.
func (c *conversation) shorten(tokens int, bytesPerToken float64) {
	left := int(float64(tokens) * bytesPerToken)
	for i := range c.tools {
		raw, _ := chat.EncodeTool(&c.tools[i]) // the request has the error
		left -= len(raw)
	}
	for i := range c.blocks {
		left -= c.blocks[i].size()
	}
	kept := c.blocks[:0]
	for i, b := range c.blocks {
		if left < 0 && !b.fixed && i < len(c.blocks)-1 {
			left += b.size()
			continue
		}
		kept = append(kept, b)
	}
	c.blocks = kept
}
