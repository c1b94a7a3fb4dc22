// Command elsewhere has payments approved at its terminal, not by the client that requests
// them: it prints pending approvals, and "approve ID" or "reject ID" decides.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type payment struct {
	Amount int64  `json:"amount"`
	To     string `json:"to"`
}

// config returns the configuration of a server on which clients may not approve their
// payments. A pending payment's task waits in this state.
func config(waits approval.WaitingState) (a2aserver.Config, error) {
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "Pays somebody"},
		func(_ tool.Context, p payment) (string, error) {
			return fmt.Sprintf("paid %d to %s", p.Amount, p.To), nil
		}))
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "pay", Terms: approval.Terms{Elsewhere: true, WaitingState: waits}},
	}})
	return a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("bank", pay)}, Policy: policy}, err
}

// desk prints new approvals of by to out, and decides them as lines say, until lines is
// closed or ctx ends.
func desk(ctx context.Context, approvals *engine.Approvals, by auth.Principal, lines <-chan string, out io.Writer) error {
	wake, stop := approvals.Watch(by)
	defer stop()
	shown := map[string]string{} // digest by id, so that a decision is about the printed approval
	for {
		page, err := approvals.List(ctx, by, engine.ApprovalQuery{})
		if err != nil {
			return err
		}
		for i := range page.Approvals {
			if a := &page.Approvals[i]; shown[a.ID] == "" {
				shown[a.ID] = a.Digest
				_, _ = fmt.Fprintln(out, a.ID, a.Question()) // without a printed line, no decision
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			decision, id, _ := strings.Cut(line, " ")
			said := "done"
			if err := approvals.Decide(ctx, by, approval.Decision{ID: id, Type: approval.DecisionType(decision), Digest: shown[id]}); err != nil {
				said = err.Error()
			}
			_, _ = fmt.Fprintln(out, said)
		}
	}
}

// read returns the lines of in.
func read(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() { // ends with the process: reading a terminal cannot be canceled
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

func main() {
	listen, waits := flag.String("listen", "127.0.0.1:8080", "address"), flag.String("waits", "working", "state of tasks that wait: working, auth_required or input_required")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, err := config(approval.WaitingState(*waits))
	if err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
	c.Settings = a2aserver.DefaultSettings()
	c.Settings.Listen, c.Settings.Store = *listen, "memory"
	server, err := a2aserver.New(c)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", server.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	if err := desk(ctx, server.Approvals(), auth.Anonymous(), read(os.Stdin), os.Stdout); err != nil && ctx.Err() == nil {
		log.Print(err)
	}
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}
