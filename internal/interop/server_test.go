package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a server that runs as a process of its own.
type server struct {
	url  string
	grpc string // its address for gRPC, if it has one
	data string // its folder of files
	cmd  *exec.Cmd
	read chan struct{} // closed when its log has been read to the end
	stop func(*testing.T)
	// recovers: it comes after one that was killed, and logs which calls were cut off.
	recovers bool
	kill     func(*testing.T) // without a word; it is not stopped any more then

	mu  sync.Mutex
	log bytes.Buffer
}

// logged is what matters of a line of the server's log.
type logged struct{ Level, Message, Error, Address, GRPC string }

// start starts a server on a port that is free, with its files in data and further
// flags. It is stopped, and must end well, when the test ends.
func start(t *testing.T, program, data string, flags ...string) *server {
	t.Helper()
	s := &server{data: data, read: make(chan struct{})}
	s.cmd = exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, flags...)...)
	// What is set where the tests run must not change what is tested.
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "A2A_SERVER_") })
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	var once sync.Once
	s.stop = func(t *testing.T) { once.Do(func() { s.end(t) }) }
	s.kill = func(t *testing.T) {
		once.Do(func() {
			if err := s.cmd.Process.Kill(); err != nil {
				t.Fatalf("kill the server: %v", err)
			}
			<-s.read
			_ = s.cmd.Wait() // killed
		})
	}
	t.Cleanup(func() { s.stop(t) })

	listens := make(chan logged, 1)
	go func() {
		defer close(s.read)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.log.Write(append(lines.Bytes(), '\n'))
			s.mu.Unlock()
			var line logged
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "listening" {
				listens <- line
			}
		}
	}()
	select {
	case l := <-listens:
		s.url, s.grpc = "http://"+l.Address, l.GRPC
	case <-s.read:
		t.Fatalf("the server ended before it listened; its log:\n%s", s.logs())
	case <-time.After(time.Minute):
		t.Fatalf("the server has not said within a minute where it listens; its log:\n%s", s.logs())
	}
	return s
}

// end ends the server by a signal to its process. It must go by itself with exit
// code 0, and must have logged no error, but for a disk that is slow.
func (s *server) end(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("end the server: %v", err)
	}
	kill := time.AfterFunc(time.Minute, func() {
		t.Error("the server was still there a minute after SIGTERM")
		_ = s.cmd.Process.Kill() // Wait reports what becomes of it
	})
	defer kill.Stop()
	<-s.read // Wait closes the pipe, so not before
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v, want exit code 0", err)
	}
	if raw := s.readLedger(t); len(raw) > 0 && !bytes.HasSuffix(raw, []byte("\n")) {
		t.Errorf("the ledger ends within a line: %q", raw[bytes.LastIndexByte(raw, '\n')+1:])
	}
	for line := range strings.Lines(s.logs()) {
		var l logged
		switch {
		case json.Unmarshal([]byte(line), &l) != nil:
			t.Errorf("not a line of JSON in the server's log: %s", line)
		case s.recovers && l.Message == "call has an unknown outcome":
		// It is the machine that is slow, and nothing was refused.
		case l.Message == "the store cannot write" && strings.HasPrefix(l.Error, "the disk has been taking"):
		case l.Level == "error" || l.Level == "fatal" || l.Level == "panic":
			t.Errorf("the server logged: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("the server's log:\n%s", s.logs())
	}
}

func (s *server) logs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// An entry is one transfer in the ledger of transfer_money: one run of the tool.
type entry struct {
	Time time.Time `json:"time"`
	Task string    `json:"task"`
	Call string    `json:"call"`
	Args transfer  `json:"args"`
}

// transfer is what transfer_money takes.
type transfer struct {
	Amount float64 `json:"amount"`
	To     string  `json:"to"`
}

// ledger returns the runs of transfer_money in a task.
func (s *server) ledger(t *testing.T, task string) []entry {
	t.Helper()
	return slices.DeleteFunc(s.entries(t), func(e entry) bool { return e.Task != task })
}

// transfers returns what was transferred, in all tasks.
func (s *server) transfers(t *testing.T) []transfer {
	t.Helper()
	all := []transfer{}
	for _, e := range s.entries(t) {
		all = append(all, e.Args)
	}
	return all
}

// entries returns the lines of the ledger. One that another task is just writing may be there
// in part: it is not finished yet.
func (s *server) entries(t *testing.T) []entry {
	t.Helper()
	raw := s.readLedger(t)
	var all []entry
	for line := range bytes.Lines(raw[:bytes.LastIndexByte(raw, '\n')+1]) {
		var e entry
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("a line of the ledger, %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func (s *server) readLedger(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.data, "ledger.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return raw
}
