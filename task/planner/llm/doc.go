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
// Tools can act in the model's place, by the actions of their results: a tool ends the task
// (SkipSummarization), gives it back (Escalate), asks the client (RequireInput), or hands the task
// over to the tool of an agent (TransferToAgent). That tool then gets the newest message of the
// client as its argument message, and its result is the task's. If it requires input, the reply is
// its next message. An agent to which a task is handed over hands it no further.
//
//	answer → calls → results → answer → … → text
//	   └ no answer → wait (durable) → answer
//	   └ too many steps → question to the client → answer
//	   └ transfer → call of the agent → its result
package llm
