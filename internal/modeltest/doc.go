// Package modeltest is an endpoint of chat completions for tests, in the dialects of OpenAI, Ollama
// and vLLM. A function answers as the model does; the endpoint checks requests as strictly as the
// real ones, streams the answers as each dialect does, and breaks them where a test wants it.
package modeltest
