// Command approver is an approver's chat bot, with the terminal as the chat: it prints pending
// approvals, and decides them by lines such as "approve ID" or "reject ID too much".
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"

	"a2a-server/client"
)

func main() {
	url, key := flag.String("url", "http://127.0.0.1:8080", "of the server"), flag.String("key", "", "API key with the role approver")
	flag.Parse()
	cfg := client.Config{URL: *url}
	if *key != "" {
		cfg.Credential = client.Key(*key)
	}
	c, err := client.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	chat(context.Background(), c, os.Stdin, os.Stdout)
}

// chat writes pending approvals to out, and decides them by the lines of in. A decision has
// the digest of the printed approval, so that nothing else is approved.
func chat(ctx context.Context, c *client.Client, in io.Reader, out io.Writer) {
	var digests sync.Map // by id of the approval
	go func() {
		for e, err := range c.Watch(ctx, "") {
			var pending []client.Approval
			if err == nil && (e.Entry.N == 0 || e.Entry.What == "asked") { // at first, and whenever an approval is requested
				pending, err = whole(ctx, c)
			}
			if err != nil {
				_, _ = fmt.Fprintln(out, "error:", err)
			}
			for _, a := range pending {
				if _, written := digests.LoadOrStore(a.ID, a.Digest); !written {
					_, _ = fmt.Fprintf(out, "%s: may %q run with %q for %q?\n", a.ID, a.Tool, a.Arguments, a.Requester.Subject)
				}
			}
		}
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		words := append(strings.SplitN(lines.Text(), " ", 3), "", "")
		digest, _ := digests.Load(words[1])
		text, _ := digest.(string) // "" is refused
		decision := client.Decision{Decision: client.DecisionType(words[0]), Digest: text, Reason: words[2]}
		_, err := c.Decide(ctx, words[1], decision)
		_, _ = fmt.Fprintln(out, words[1], map[bool]any{true: "done", false: err}[err == nil])
	}
}

// whole returns the approvals that the caller may decide, with all their arguments.
func whole(ctx context.Context, c *client.Client) (all []client.Approval, err error) {
	for q := (client.ApprovalQuery{Mine: true, Limit: 200}); ; {
		page, err := c.Approvals(ctx, q)
		if err != nil {
			return all, err
		}
		for _, a := range page.Items {
			if a.Cut {
				d, err := c.Approval(ctx, a.ID)
				if err != nil {
					return all, err
				}
				a = d.Approval
			}
			all = append(all, a)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, nil
		}
	}
}
