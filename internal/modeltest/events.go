package modeltest

import (
	"encoding/json"
	"fmt"
)

// events returns the data of the events of an answer, in the dialect.
func (e *Endpoint) events(a *Answer) (all []string) {
	model := e.Model
	if model == "" {
		model = "test-model"
	}
	event := func(choices string, more string) {
		all = append(all, fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":%q,"choices":[%s]%s}`, model, choices, more))
	}
	delta := func(members string) {
		event(`{"index":0,"delta":{`+members+`},"logprobs":null,"finish_reason":null}`, "")
	}
	first := `"role":"assistant","content":null`
	if e.Dialect != OpenAI {
		first = `"role":"assistant","content":""`
	}
	if a.Extra != "" {
		first += "," + a.Extra
	}
	delta(first)
	reasoning := "reasoning_content"
	if e.Dialect == Ollama {
		reasoning = "reasoning"
	}
	for _, piece := range fragments(a.Reasoning, 5) {
		delta(quote(reasoning) + ":" + quote(piece))
	}
	for _, piece := range fragments(a.Text, 5) {
		delta(`"content":` + quote(piece))
	}
	if a.Error != "" {
		return append(all, a.Error)
	}
	for i, c := range a.Calls {
		e.call(delta, i, c)
	}
	finish := a.Finish
	if finish == "" {
		if finish = "stop"; len(a.Calls) > 0 && e.Dialect != Ollama {
			finish = "tool_calls"
		}
	}
	if finish != "-" {
		event(`{"index":0,"delta":{},"logprobs":null,"finish_reason":`+quote(finish)+`}`, "")
	}
	event("", `,"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":64}}`)
	return append(all, "[DONE]")
}

// call adds the events of a call.
func (e *Endpoint) call(delta func(string), i int, c Call) {
	id := `"id":` + quote(c.ID) + ","
	switch c.ID {
	case "":
		id = `"id":` + quote(e.id()) + ","
	case "-":
		id = ""
	}
	if e.Dialect == Ollama {
		delta(`"tool_calls":[{` + id + `"index":0,"type":"function","function":{"name":` + quote(c.Name) + `,"arguments":` + quote(c.Args) + `}}]`)
		return
	}
	delta(fmt.Sprintf(`"tool_calls":[{"index":%d,%s"type":"function","function":{"name":%s,"arguments":""}}]`, i, id, quote(c.Name)))
	for _, piece := range fragments(c.Args, 7) {
		delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, quote(piece)))
	}
}

func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // it is a text
	}
	return string(raw)
}
