package llm

import (
	"slices"

	"a2a-server/task"
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

// budget returns how many bytes the next request may have.
func (p *Planner) budget(steps []task.DoneStep) int {
	return int(float64(p.config.Context-p.config.MaxTokens) * rate(steps))
}

// share returns how many bytes of each result are told, so that all results of a step have at most
// as many as given: what short results leave is for the long ones.
func share(calls []task.Result, bytes int) int {
	var sizes []int
	for i := range calls {
		sizes = append(sizes, len(encode(string(calls[i].Content)+calls[i].Error)))
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		if each := max(bytes, 0) / (len(sizes) - i); size > each {
			return min(each, maxResult)
		}
		bytes -= size
	}
	return maxResult
}

// shorten drops the oldest blocks that are not fixed until the request has at most so many bytes.
// The newest step stays, too: the model is waiting for its results.
func (c *conversation) shorten(left int) {
	for _, raw := range c.tools {
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
