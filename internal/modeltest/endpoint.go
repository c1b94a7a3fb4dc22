package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Dialect is how an endpoint streams.
type Dialect string

// The dialects.
const (
	OpenAI Dialect = "openai" // calls in fragments, usage in an event of its own
	Ollama Dialect = "ollama" // each call whole, with index 0, and the finish reason "stop"
	VLLM   Dialect = "vllm"   // long ids, reasoning_content, and errors with object: error
)

// Message is a message of a request.
type Message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name string `json:"name"`
			Args string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Request is a request as the endpoint has read it.
type Request struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name       string         `json:"name"`
			Parameters map[string]any `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Stream bool `json:"stream"`

	Header http.Header     `json:"-"`
	Body   json.RawMessage `json:"-"`
}

// Last returns the newest message.
func (r *Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// Call is a call in an answer.
type Call struct {
	Name string
	Args string
	ID   string // "": as the dialect makes ids; "-": none
}

// Answer is what the model answers, and what goes wrong meanwhile. Its zero value is an empty text.
type Answer struct {
	Text, Reasoning string
	Calls           []Call
	Finish          string // "": that of the dialect; "-": none
	Extra           string // a member of the first delta, such as "extra_content":{}

	Status      int    // not 200: the answer is Body
	RetryAfter  string // header
	ContentType string // of Body, if not JSON
	Body        string // in place of a stream

	Cut   int           // > 0: the connection is lost after so many events
	End   int           // > 0: the stream ends cleanly after so many events
	Stall int           // > 0: nothing follows so many events until the client leaves
	Error string        // JSON of an error after the text
	Pause time.Duration // between events
}

// Endpoint is an http.Handler for POST /v1/chat/completions. It is safe for concurrent use.
type Endpoint struct {
	Dialect Dialect
	Model   string // "": any
	Key     string // "": none is needed
	Split   int    // bytes of a write; 0: whole events
	Comment bool   // before each event
	Answer  func(r *Request) Answer

	mu       sync.Mutex
	requests []*Request
	ids      int
}

// Requests returns the requests so far.
func (e *Endpoint) Requests() []*Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*Request(nil), e.requests...)
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	if e.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.Key {
		e.refuse(w, http.StatusUnauthorized, "Incorrect API key provided")
		return
	}
	is := &Request{Header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&is.Body); err != nil {
		e.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if err := json.Unmarshal(is.Body, is); err != nil {
		e.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if e.Model != "" && is.Model != e.Model {
		e.refuse(w, http.StatusNotFound, "The model does not exist")
		return
	}
	if why := is.fault(); why != "" {
		e.refuse(w, http.StatusBadRequest, why)
		return
	}
	e.mu.Lock()
	e.requests = append(e.requests, is)
	e.mu.Unlock()
	e.reply(w, r, e.Answer(is))
}

// fault returns what the endpoints of OpenAI refuse in a conversation.
func (r *Request) fault() string {
	if !r.Stream || len(r.Messages) == 0 {
		return "these tests stream a conversation"
	}
	open := map[string]bool{}
	for i, m := range r.Messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return fmt.Sprintf("messages[%d]: role 'tool' must be a response to a preceding message with 'tool_calls'", i)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages", i)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || open[c.ID] {
				return fmt.Sprintf("messages[%d]: tool call id %q is empty or not unique", i, c.ID)
			}
			if !json.Valid([]byte(c.Function.Args)) {
				return fmt.Sprintf("messages[%d]: the arguments of a call are not JSON", i) // vLLM reads them
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return "the last tool calls have no result"
	}
	return ""
}

func (e *Endpoint) refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"error": map[string]any{"message": why, "type": "invalid_request_error", "code": nil}}
	if e.Dialect == VLLM {
		body = map[string]any{"object": "error", "message": why, "type": "BadRequestError", "code": status}
	}
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

func (e *Endpoint) reply(w http.ResponseWriter, r *http.Request, a Answer) {
	if a.Status != 0 || a.Body != "" {
		kind := a.ContentType
		if kind == "" {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		if a.RetryAfter != "" {
			w.Header().Set("Retry-After", a.RetryAfter)
		}
		w.WriteHeader(max(a.Status, http.StatusOK))
		_, _ = fmt.Fprint(w, a.Body) // the client may have left
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &stream{w: w, control: http.NewResponseController(w), split: e.Split, comment: e.Comment}
	for i, event := range e.events(&a) {
		switch {
		case a.Cut > 0 && i == a.Cut:
			panic(http.ErrAbortHandler)
		case a.End > 0 && i == a.End:
			return
		case a.Stall > 0 && i == a.Stall:
			<-r.Context().Done()
			return
		}
		if a.Pause > 0 {
			select {
			case <-time.After(a.Pause):
			case <-r.Context().Done():
				return
			}
		}
		out.event(event)
	}
}

// stream writes events in pieces.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	split   int
	comment bool
}

func (s *stream) event(data string) {
	text := "data: " + data + "\n\n"
	if s.comment {
		text = ": keep-alive\r\n\r\nevent: chunk\r\ndata: " + data + "\r\n\r\n"
	}
	for len(text) > 0 {
		n := len(text)
		if s.split > 0 {
			n = min(n, s.split)
		}
		_, _ = s.w.Write([]byte(text[:n])) // the client may have left
		_ = s.control.Flush()
		text = text[n:]
	}
}

// id returns a new id of a call.
func (e *Endpoint) id() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ids++
	switch e.Dialect {
	case OpenAI:
	case Ollama:
		return fmt.Sprintf("call_%08d", e.ids)
	case VLLM:
		return fmt.Sprintf("chatcmpl-tool-%032d", e.ids)
	}
	return fmt.Sprintf("call_%024d", e.ids)
}

// maxFragments bounds the pieces of a text.
const maxFragments = 2000

// fragments returns text in pieces of about n bytes between characters, of more if it is long.
func fragments(text string, n int) (all []string) {
	n = max(n, len(text)/maxFragments)
	var piece strings.Builder
	for _, r := range text {
		if piece.Len() >= n {
			all = append(all, piece.String())
			piece.Reset()
		}
		piece.WriteRune(r)
	}
	if piece.Len() > 0 {
		all = append(all, piece.String())
	}
	return all
}
