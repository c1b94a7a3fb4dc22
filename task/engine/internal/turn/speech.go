package turn

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
)

// saidName is the name of the artifacts with the text of planners.
const saidName = "text"

// maxSaid bounds the text of a chunk, in bytes.
const maxSaid = 64 << 10

// speech is the text that a planner publishes during a plan. The planner's side hands text over,
// and the turn takes all that has come since as a single chunk, so that a batch that is written
// gathers the text for the next.
type speech struct {
	env       *env.Env
	publisher output.Publisher
	artifact  string
	window    int   // bytes that the planner may be ahead of the disk
	open      int64 // bytes that the log has room for
	keepWhole bool

	ready chan struct{} // signaled when there is text to take

	mu      sync.Mutex
	text    []byte
	replace bool  // text replaces what was taken
	said    bool  // anything was handed over
	took    bool  // anything was taken
	over    error // why nothing more is taken; nil: it is
	missing error // why text that was handed over is not published; nil: all is
	room    chan struct{}
	whole   strings.Builder
}

// newSpeech returns the speech about the next step of f, for which the log has room for so many bytes.
func newSpeech(e *env.Env, f *fold.Fold, open int64, keepWhole bool) *speech {
	return &speech{
		env: e, publisher: f.Publisher(e.Rules().Presenter, e.Limits.Event), artifact: rules.SaidID(f),
		window: e.Limits.Window, open: open, keepWhole: keepWhole, ready: make(chan struct{}, 1),
	}
}

// say is [task.Progress].Say.
func (s *speech) say(text string, again bool) error {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.over == nil && len(s.text) > s.window {
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		s.env.Wait(room)
		s.mu.Lock()
	}
	switch {
	case s.over != nil:
		return s.over
	case text == "" && (!again || !s.said):
		return nil
	case s.open < int64(len(text)):
		s.over = fmt.Errorf("%w: it has no room for more text of the planner", rules.ErrLogFull)
		return s.over
	}
	s.open -= int64(len(text))
	if again {
		s.text, s.replace = nil, true
		s.whole.Reset()
	}
	s.text, s.said = append(s.text, text...), true
	if s.keepWhole {
		s.whole.WriteString(text)
	}
	env.Signal(s.ready)
	return nil
}

// waits reports whether there is text that the turn has not taken.
func (s *speech) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.text) > 0 || s.replace
}

// take returns the text of the next chunk. first: it replaces the artifact.
func (s *speech) take() (text string, first, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.text) == 0 && !s.replace {
		return "", false, false
	}
	n := min(len(s.text), maxSaid)
	for n < len(s.text) && !utf8.RuneStart(s.text[n]) {
		n--
	}
	text, first = string(s.text[:n]), s.replace || !s.took
	s.text, s.replace, s.took = s.text[n:], false, true
	if len(s.text) > 0 {
		env.Signal(s.ready)
	}
	s.makeRoom()
	return text, first, true
}

// makeRoom wakes a planner that waits for room. s.mu must be held.
func (s *speech) makeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// chunks returns text as the events of chunks, which are halved until each fits into an event: some
// characters are several bytes there. first: it replaces the artifact.
func (s *speech) chunks(now time.Time, text string, first bool) (all []output.RunEvent, err error) {
	for n := len(text); ; {
		content, err := s.publisher.Content(text[:n])
		if err != nil {
			return nil, err
		}
		chunk, err := s.publisher.Chunk(now, s.artifact, saidName, output.Chunk{Content: content, First: first})
		_, one := utf8.DecodeRuneInString(text)
		switch {
		case err == nil:
			all = append(all, chunk)
			if text, first = text[n:], false; text == "" {
				return all, nil
			}
			_, one = utf8.DecodeRuneInString(text)
		case n <= one:
			return nil, err
		default:
			n /= 2
		}
		for n = min(n, len(text)); n < len(text) && !utf8.RuneStart(text[n]); {
			n--
		}
		n = max(n, one)
	}
}

// lose refuses all further text because some of it cannot be published, and drops what was not
// taken.
func (s *speech) lose(why error) {
	s.end(why)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing, s.text, s.replace = why, nil, false
}

// lost returns why text is missing; nil: all is published.
func (s *speech) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing
}

// end refuses all further text, unless it is refused already. Text that was handed over is still
// to be taken.
func (s *speech) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = why
	}
	s.makeRoom()
}
