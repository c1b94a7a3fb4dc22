package mcptoolset

import (
	"bytes"
	"encoding/json"
	"io"
)

// The library drops a tool's statement about tasks of MCP (2025-11-25): "execution":
// {"taskSupport": "required"}. A plain call of such a tool fails, and tasks are not supported
// here, so listings are inspected on their way to the library.

// taskTools returns the names of the tools in the result of tools/list that run only as
// tasks.
func taskTools(result json.RawMessage) (names []string) {
	if !bytes.Contains(result, []byte(`"taskSupport"`)) {
		return nil
	}
	var list struct {
		Tools []struct {
			Name      string `json:"name"`
			Execution struct {
				TaskSupport string `json:"taskSupport"`
			} `json:"execution"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return nil // the library will say it
	}
	for _, t := range list.Tools {
		if t.Execution.TaskSupport == "required" {
			names = append(names, t.Name)
		}
	}
	return names
}

// listedTasks implements ears.
func (s *session) listedTasks(names []string) {
	s.tasksMu.Lock()
	defer s.tasksMu.Unlock()
	for _, name := range names {
		s.tasks[name] = true
	}
}

// overheard is the body of an HTTP response, inspected while the library reads it: JSON, or
// the events of a stream. A completed message is inspected before the read returns.
type overheard struct {
	io.ReadCloser

	ears   ears
	stream bool
	limit  int    // bytes of a message; longer ones end the connection
	line   []byte // of a stream, as far as it has come
	data   []byte // of an event, or the whole body
}

// Read implements io.Reader.
func (o *overheard) Read(b []byte) (int, error) {
	n, err := o.ReadCloser.Read(b)
	if o.stream {
		o.events(b[:n])
	} else if o.add(b[:n]); err != nil {
		o.hear()
	}
	return n, err
}

func (o *overheard) add(b []byte) {
	if len(o.data)+len(b) <= o.limit {
		o.data = append(o.data, b...)
	}
}

// events takes more of a stream of events.
func (o *overheard) events(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			if len(o.line)+len(b) <= o.limit {
				o.line = append(o.line, b...)
			}
			return
		}
		line := bytes.TrimSuffix(append(o.line, b[:end]...), []byte("\r"))
		b = b[end+1:]
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			o.add(data)
		} else if len(line) == 0 {
			o.hear()
		}
		o.line = o.line[:0]
	}
}

// hear looks at a whole message.
func (o *overheard) hear() {
	var m struct {
		Result json.RawMessage `json:"result"`
	}
	if bytes.Contains(o.data, []byte(`"taskSupport"`)) && json.Unmarshal(o.data, &m) == nil {
		o.ears.listedTasks(taskTools(m.Result))
	}
	o.data = o.data[:0]
}
