package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"a2a-server/internal/egress"
)

// maxEvent bounds a line of a stream, and the data of an event, in bytes.
const maxEvent = 1 << 20

var errDone = errors.New("done")

// readEvents reads an answer from server-sent events (WHATWG HTML §9.2). Once it has a finish
// reason, nothing that follows, not even a lost connection, makes it incomplete.
func readEvents(from io.Reader, say func(string) error) (*Answer, error) {
	var a answering
	err := events(from, func(data []byte) error {
		if string(data) == "[DONE]" {
			return errDone
		}
		text, err := a.add(data)
		if err != nil || text == "" {
			return err
		}
		return say(text)
	})
	switch {
	case a.finish != "" && (err == nil || errors.Is(err, errDone) || isLost(err)):
		return a.answer()
	case err == nil, errors.Is(err, errDone):
		return nil, lost("it has no finish_reason")
	}
	return nil, err
}

func isLost(err error) bool {
	e, is := errors.AsType[*Error](err)
	return is && e.Temporary
}

// readWhole reads an answer of a server that does not stream.
func readWhole(from io.Reader, say func(string) error) (*Answer, error) {
	body, err := io.ReadAll(from)
	if _, large := errors.AsType[*egress.TooLargeError](err); large {
		return nil, unusable("", "the model's server answered with JSON of more than %d bytes", maxWhole)
	} else if err != nil {
		return nil, lost("read: %v", err)
	}
	var a answering
	text, err := a.add(body)
	switch {
	case err != nil:
		return nil, err
	case a.finish == "":
		return nil, unusable(string(body), "the model's server answered with JSON that is no completed answer: the operator has to check planner.llm.url")
	}
	if text != "" {
		if err := say(text); err != nil {
			return nil, err
		}
	}
	return a.answer()
}

// events calls take with the data of each event. Comments and other fields are skipped, and an
// event without its blank line at the end is dropped.
func events(from io.Reader, take func(data []byte) error) error {
	lines := &lineReader{from: bufio.NewReader(from)}
	var data []byte
	some := false
	for first := true; ; first = false {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case first:
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) == 0 {
			if some {
				if err := take(data); err != nil {
					return err
				}
			}
			data, some = data[:0], false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" {
			continue
		}
		if some {
			data = append(data, '\n')
		}
		data, some = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		if len(data) > maxEvent {
			return unusable("", "the model's server sent an event of more than %d bytes", maxEvent)
		}
	}
}

// lineReader reads lines that end with CR, LF or both.
type lineReader struct {
	from *bufio.Reader
	line []byte
	cr   bool // the line before ended with CR, so that an LF is a part of its end
}

// next returns the next line, which is valid until the next call. A line without an end is
// dropped. The error is io.EOF, or an *[Error].
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		b, err := l.from.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, lost("read: %v", err)
		}
		after := l.cr
		l.cr = b == '\r'
		switch {
		case b == '\n' && after:
		case b == '\n', b == '\r':
			return l.line, nil
		case len(l.line) == maxEvent:
			return nil, unusable("", "the model's server sent a line of more than %d bytes", maxEvent)
		default:
			l.line = append(l.line, b)
		}
	}
}

// chunk is an event of a stream, or a whole answer.
type chunk struct {
	Object  string          `json:"object"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Usage   *usageJSON      `json:"usage"`
	Choices []struct {
		Delta   map[string]json.RawMessage `json:"delta"`
		Message map[string]json.RawMessage `json:"message"`
		Finish  string                     `json:"finish_reason"`
	} `json:"choices"`
}

type usageJSON struct {
	In      int `json:"prompt_tokens"`
	Out     int `json:"completion_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}
