package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"a2a-server/internal/heap"
)

// specVariable holds the spec of a server process, as JSON.
const specVariable = "BENCH_CHILD"

// kind is which server a process is.
type kind string

const (
	ours   kind = "ours"
	peer   kind = "peer"
	echoed kind = "echo"
	filler kind = "filler"  // no server: it fills a file with parked tasks
	whole  kind = "program" // ours as the program puts it together
)

// spec is what a server process is told.
type spec struct {
	Kind kind
	File string // ours and filler: the store; ours without one keeps tasks in memory. program: its data folder
	// Tasks is how many parked tasks the file is to hold in the end, and IDs the file
	// that their ids are added to, 16 bytes each.
	Tasks  int
	IDs    string
	Limit  time.Duration // for the filler
	Config string        // the configuration file of program
	Beat   time.Duration // of ours; 0: the default
	// Body is what echo answers to GetTask, as JSON.
	Body string
}

// report is what a server process answers on each line it is sent.
type report struct {
	Addr    string        // in the first one
	GRPC    string        // likewise, of ours
	CPU     time.Duration // user and system, of the whole process
	Elapsed time.Duration // in the first one: from the start of main until it listens
	Filled  int           // tasks, by the filler
	Commits []int64       // nanoseconds that each commit took, sorted; in answer to commits
	Err     string
}

// service is a server process's inside.
type service struct {
	handler http.Handler
	release func() // lets the chunks of burst flow
	commits func() []int64
	close   func() error
}

// child serves on a port of its own until its input ends, which is also what
// happens when the process that started it dies.
func child(text string) (err error) {
	began := time.Now()
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("read %s: %w", specVariable, err)
	}
	switch s.Kind {
	case filler:
		return fill(&s)
	case whole:
		return program(&s, began)
	case ours, peer, echoed: // below
	}
	var sv *service
	switch s.Kind {
	case ours:
		heap.Spare(0) // as the program does
		sv, err = newOurs(s.File, s.Beat)
	case peer:
		sv = newPeer()
	case echoed:
		sv = newEcho(s.Body)
	case filler, whole: // begun above
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, sv.close())
	}
	server := &http.Server{Handler: sv.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	first := report{Addr: l.Addr().String()}
	stop := func() {}
	if s.Kind == ours {
		if first.GRPC, stop, err = serveGRPC(sv.handler); err != nil {
			return err
		}
	}
	first.Elapsed = time.Since(began)
	err = control(os.Stdin, os.Stdout, first, sv)
	stop()
	err = errors.Join(err, server.Close())
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return errors.Join(err, sv.close())
}

// control answers commands, a line each, until there are no more.
func control(in io.Reader, out io.Writer, first report, sv *service) error {
	enc := json.NewEncoder(out)
	if err := enc.Encode(first); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r report
		if lines.Text() == "commits" {
			r.Commits = sv.commits()
		} else if err := command(lines.Text(), sv); err != nil {
			r.Err = err.Error()
		}
		r.CPU = cpu()
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

func command(line string, sv *service) error {
	name, arg, _ := strings.Cut(line, " ")
	switch name {
	case "usage":
	case "free":
		runtime.GC()
		debug.FreeOSMemory()
	case "release":
		sv.release()
	case "profile":
		f, err := os.Create(arg)
		if err != nil {
			return err
		}
		return pprof.StartCPUProfile(f)
	case "profiled":
		pprof.StopCPUProfile()
	default:
		return fmt.Errorf("%q is no command", name)
	}
	return nil
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
