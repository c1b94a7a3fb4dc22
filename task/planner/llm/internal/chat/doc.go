// Package chat is a client of chat completions: POST /chat/completions with server-sent events, as
// OpenAI defines it and Ollama, vLLM and others serve it. It sends a conversation and reads the
// answer of a model: text, calls and usage. It knows no tasks, and repeats nothing.
//
// An answer counts only if it is complete: the content type is that of events or JSON, and it has
// a finish reason. Whatever else a server sends with 200, such as a page, is an [Error].
package chat
