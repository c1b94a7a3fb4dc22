package app_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2a-server/cmd/a2a-server/internal/app"
)

// session is a command that a person runs in a terminal.
type session struct {
	t      *testing.T
	person *os.File
	stdout bytes.Buffer
	code   chan int
	cancel context.CancelFunc

	mu     sync.Mutex
	screen string
	more   chan struct{} // receives after something was written on the screen
	read   int           // of screen
}

// open runs tools call in a terminal.
func (c *console) open(args ...string) *session {
	c.t.Helper()
	return c.openCommand(append([]string{"tools", "call"}, args...)...)
}

// openCommand runs a command in a terminal. Its standard output goes elsewhere.
func (c *console) openCommand(args ...string) *session {
	c.t.Helper()
	person, program := openTerminal(c.t)
	return begin(c.t, person, program, nil, environment(), c.args(args)...)
}

// begin runs a command in a terminal. Without an stdout, its standard output goes elsewhere.
func begin(t *testing.T, person, program *os.File, stdout io.Writer, env []string, args ...string) *session {
	t.Helper()
	s := &session{t: t, person: person, code: make(chan int, 1), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	t.Cleanup(cancel)
	if stdout == nil {
		stdout = &s.stdout
	}
	go s.watch()
	go func() { s.code <- app.Run(ctx, args, env, program, stdout, program) }()
	return s
}

// watch reads the screen until the terminal is closed.
func (s *session) watch() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.person.Read(buffer)
		s.mu.Lock()
		s.screen = strings.ReplaceAll(s.screen+string(buffer[:n]), "\r\n", "\n") // the two may come apart
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// shown returns what the screen has shown so far.
func (s *session) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen
}

// expect waits until the screen shows a text after what was expected before.
func (s *session) expect(text string) {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		rest := s.screen[s.read:]
		at := strings.Index(rest, text)
		if at >= 0 {
			s.read += at + len(text)
		}
		s.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-s.more:
		case <-late:
			s.t.Fatalf("the screen does not show %q:\n%s", text, rest)
		}
	}
}

// answer writes a line after a prompt.
func (s *session) answer(prompt, line string) {
	s.t.Helper()
	s.expect(prompt)
	if _, err := s.person.WriteString(line + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

// end returns how the command ended, and its standard output.
func (s *session) end() (code int, stdout string) {
	s.t.Helper()
	select {
	case code = <-s.code:
		return code, s.stdout.String()
	case <-time.After(time.Minute):
		s.t.Fatal("the command does not end")
		return 0, ""
	}
}

// ends waits for the end of a command that exits with a code, and prints nothing or something.
func (s *session) ends(code int, prints string) {
	s.t.Helper()
	if got, stdout := s.end(); got != code || !strings.Contains(stdout, prints) || prints == "" && stdout != "" {
		s.t.Errorf("it exits with %d and prints %q, want %d and %q\n%s", got, stdout, code, prints, s.shown())
	}
}

const (
	approvePrompt = "Approve? [y/N/edit/reason] "
	againPrompt   = "Run it again? [y/N/result/reason] "
)

// A call runs as the person at the terminal decides.
func TestToolsCallTerminal(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		answers [][2]string // prompts, and what is written after them
		code    int
		stdout  string
		noted   string
		screen  string // is shown
	}{
		"yes":         {answers: [][2]string{{approvePrompt, "y"}}, stdout: "noted a\n", noted: "a", screen: `arguments   {"text":"a"}`},
		"no":          {answers: [][2]string{{approvePrompt, "no"}}, code: 3, screen: "rejected"},
		"empty":       {answers: [][2]string{{approvePrompt, ""}}, code: 3, screen: "rejected"},
		"something":   {answers: [][2]string{{approvePrompt, "ye"}, {approvePrompt, "YES"}}, stdout: "noted a\n", noted: "a", screen: "one of the words"},
		"reason":      {answers: [][2]string{{approvePrompt, "reason"}, {"Why not? ", "too late"}}, code: 3, screen: "too late"},
		"edit":        {answers: [][2]string{{approvePrompt, "edit"}, {"one line: ", `{"text":"b"}`}}, stdout: "noted b\n", noted: "b"},
		"bad edit":    {answers: [][2]string{{approvePrompt, "e"}, {"one line: ", `{`}, {"the arguments are not valid JSON", ""}, {"one line: ", `{"text":7}`}, {"do not fit the tool", ""}, {approvePrompt, "n"}}, code: 3},
		"end of file": {answers: [][2]string{{approvePrompt, "\x04"}}, code: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, calling)
			s := c.open("note", "text=a")
			for _, a := range one.answers {
				if a[1] == "" && a[0] != approvePrompt {
					s.expect(a[0])
					continue
				}
				s.answer(a[0], a[1])
			}
			code, stdout := s.end()
			if got := c.noted(); code != one.code || stdout != one.stdout || got != one.noted {
				t.Errorf("it exits with %d, prints %q and has noted %q; want %d, %q and %q\n%s", code, stdout, got, one.code, one.stdout, one.noted, s.shown())
			}
			if one.screen != "" {
				s.read = 0
				s.expect(one.screen)
			}
		})
	}
}

// What was written before a question was on the screen is no answer to it: neither while
// the command starts or a call runs, nor in one go with the answer to the question before.
func TestToolsCallTypedAhead(t *testing.T) {
	t.Parallel()
	c := withFile(t, calling)
	s := c.open("die")
	s.answer(againPrompt, "y\ny\ny")
	s.answer(againPrompt, "n")
	s.ends(1, "ran\nran\n")
	s = c.open("wait")
	if _, err := s.person.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	s.expect("y\n") // the echo of the terminal
	if err := os.WriteFile(filepath.Join(c.folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.answer(againPrompt, "n")
	s.ends(1, "ran\n")
}

// What has no line end is no answer, and a line that the terminal cuts off is none either.
func TestToolsCallLines(t *testing.T) {
	t.Parallel()
	c := withFile(t, calling)
	s := c.open("note", "text=a")
	s.answer(approvePrompt, "y\x04\x04")
	if code, _ := s.end(); code != 3 || c.noted() != "" {
		t.Errorf("half a line: it exits with %d and has noted %q\n%s", code, c.noted(), s.shown())
	}
	s = c.open("note", "text=a")
	s.answer(approvePrompt, "reason")
	s.answer("Why not? ", strings.Repeat("x", 5000))
	s.expect("too long")
	s.answer("Why not? ", "short")
	if code, _ := s.end(); code != 3 || strings.Contains(s.shown(), "rejected: x") {
		t.Errorf("a long line: it exits with %d\n%s", code, s.shown())
	}
}

// A tool whose result is the decision ends well also when that is no, and was not approved.
func TestToolsCallAnsweredNo(t *testing.T) {
	t.Parallel()
	s := withFile(t, calling).open("request_approval", "action=Pay?\n  arguments: {}", "reason=why")
	s.expect("| Pay?\n            |   arguments: {}\n")
	s.answer(approvePrompt, "n")
	s.ends(3, "")
	s.expect("request_approval was not approved")
}

// Only what a gate allows is offered.
func TestToolsCallAllowed(t *testing.T) {
	t.Parallel()
	for allowed, prompt := range map[string]string{
		"[reject]": "Approve? [N/reason] ", "[edit, reject]": "Approve? [N/edit/reason] ", "[approve, reject]": "Approve? [y/N/reason] ",
	} {
		c := withFile(t, calling+"  - {name: some, tool: note, allowed: "+allowed+"}\n")
		s := c.open("note", "text=a")
		if !strings.Contains(prompt, "y/") {
			s.answer(prompt, "y")
			s.expect("one of the words in brackets")
		}
		s.answer(prompt, "n")
		if code, _ := s.end(); code != 3 || c.noted() != "" {
			t.Errorf("%s: it exits with %d and has noted %q\n%s", allowed, code, c.noted(), s.shown())
		}
	}
}

// What a tool prints is escaped on a terminal, and as it is elsewhere.
func TestToolsCallEscapes(t *testing.T) {
	t.Parallel()
	c := withFile(t, calling)
	person, program := openTerminal(t)
	if code := app.Run(t.Context(), c.args([]string{"tools", "call", "draw", "text=a\u202eb"}), environment(), nil, program, program); code != 0 {
		t.Errorf("it exits with %d", code)
	}
	got, err := bufio.NewReader(person).ReadString('\n')
	if want := `\u001b[2J\u001b[Ha\u202eb` + "\ufffd\r\n"; err != nil || got != want {
		t.Errorf("the screen shows %q, %v; want %q", got, err, want)
	}
	if _, stdout, _ := c.run(nil, "tools", "call", "draw", "text=a"); stdout != "\x1b[2J\x1b[Ha\ufffd\n" {
		t.Errorf("elsewhere it prints %q", stdout)
	}
}

// Questions of a tool are asked on the terminal.
func TestToolsCallQuestions(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		args    string
		answers [][2]string
		stdout  string
	}{
		"text":    {`{"question":"Who?"}`, [][2]string{{"Who?", ""}, {"Your answer", "Ann B"}}, `{"answer":"Ann B"}`},
		"none":    {`{"question":"Who?"}`, [][2]string{{"Your answer", "\n"}}, `{"declined":true}`},
		"choice":  {`{"question":"Which?","choices":["red","blue"]}`, [][2]string{{"2 blue", ""}, {"Number", "3"}, {"a number from 1 to 2", ""}, {"Number", "2"}}, `{"answer":"blue"}`},
		"several": {`{"question":"Which?","choices":["red","blue"],"multiple":true}`, [][2]string{{"Numbers", "2, 1"}}, `{"answer":["blue","red"]}`},
		"form":    {`{"question":"How many?","form":{"type":"integer"}}`, [][2]string{{`{"type":"integer"}`, ""}, {"as JSON", "many"}, {"not JSON", ""}, {"as JSON", `"x"`}, {"That was refused", ""}, {"as JSON", "3"}}, `{"answer":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withFile(t, calling).open("ask_user", "--json", one.args)
			for _, a := range one.answers {
				if a[1] == "" {
					s.expect(a[0])
				} else {
					s.answer(a[0], strings.TrimSuffix(a[1], "\n"))
				}
			}
			if code, stdout := s.end(); code != 0 || strings.TrimSpace(stdout) != one.stdout {
				t.Errorf("it exits with %d and prints %q, want %q\n%s", code, stdout, one.stdout, s.shown())
			}
		})
	}
}

// Ctrl-C cancels a call, whether somebody is asked or the tool runs, and ends what it has
// started.
func TestToolsCallCanceled(t *testing.T) {
	t.Parallel()
	c := withFile(t, calling)
	asked := c.open("note", "text=a")
	asked.expect(approvePrompt)
	asked.cancel()
	if code, stdout := asked.end(); code != 1 || stdout != "" || c.noted() != "" {
		t.Errorf("while it asks: it exits with %d, prints %q and has noted %q", code, stdout, c.noted())
	}
	asked.expect("was canceled")

	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- app.Run(ctx, c.args([]string{"tools", "call", "sleep"}), environment(), nil, write, write)
		_ = write.Close()
	}()
	line := make([]byte, 32)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if code := <-ended; code != 1 {
		t.Errorf("while it runs: it exits with %d", code)
	}
	pid := 0
	for _, digit := range strings.TrimSpace(string(line[:n])) {
		pid = pid*10 + int(digit-'0')
	}
	if err := syscall.Kill(pid, 0); pid < 2 || err == nil {
		t.Errorf("the process %d still runs (%q)", pid, line[:n])
	}
}
