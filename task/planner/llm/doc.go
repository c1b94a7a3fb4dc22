// Package llm plans with a language model behind an endpoint of chat completions: OpenAI's, or one
// that speaks like it, such as Ollama and vLLM. A message of plain words becomes calls of tools,
// which the server's gates judge like all others, and in the end a text.
//
// The model's answer is data. It chooses calls and their arguments, and nothing else: it decides
// no approval, and neither it nor the result of a tool ever becomes a part of the instructions.
//
// The planner keeps no state. A step of the log has the model's answer, from which the
// conversation is built again, so a step that is in the log is never asked for again.
//
//	answer → calls → results → answer → … → text
//	   └ no answer → wait (durable) → answer
//	   └ too many steps → question to the client → answer
package llm
