package notify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/visible"
	tasks "a2a-server/task/notify"
)

// slackText sends messages to a receiver that has the shape of Slack, and returns their texts.
func slackText(t *testing.T, messages ...*tasks.Message) []string {
	t.Helper()
	r := newReceiver(t, nil)
	s := senders(t, r.url, r.egress)["slack"]
	for _, m := range messages {
		if err := s.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, q := range r.all() {
		var body map[string]any
		err := json.Unmarshal(q.body, &body)
		text, ok := body["text"].(string)
		if err != nil || !ok || len(body) != 3 || body["unfurl_links"] != false || body["unfurl_media"] != false || q.header.Get("Content-Type") != "application/json" {
			t.Fatalf("body %s: %v", q.body, err)
		}
		out = append(out, text)
	}
	return out
}

func TestSlack(t *testing.T) {
	t.Parallel()
	got := slackText(t, question(), answer(), rest())
	for i, text := range []string{
		"*An approval waits for a decision.*\n```\nTool:       transfer_money\nHint:       Pay 100 EUR to Bob &amp; Söhne?\nRisk:       high\nRequester:  alice\nUntil:      2026-11-27 22:00:00 UTC\nArguments:  {\"amount\":100}\nTask:       019a\n```\n" +
			"Decide on this page (opening it decides nothing): <https://a2a.example.com/ui/approvals/019a.1>\nOn the command line: `a2a-server approvals show 019a.1`",
		"*An approval was rejected.*\n```\nTool:       transfer_money\nHint:       Pay 100 EUR to Bob &amp; Söhne?\nRisk:       high\nRequester:  alice\nDecided by: bob\nReason:     too much\nArguments:  {\"amount\":100}\nTask:       019a\n```\n" +
			"See this page: <https://a2a.example.com/ui/approvals/019a.1>\nOn the command line: `a2a-server approvals show 019a.1`",
		"*3 more messages about approvals were due in the hour before.*\nSee: <https://a2a.example.com/ui/>\nOn the command line: `a2a-server approvals list`",
	} {
		if diff := cmp.Diff(text, got[i]); diff != "" {
			t.Errorf("text %d (-want +got):\n%s", i, diff)
		}
	}
}

// No value has a mention, a link or any markup that works, and values stay inside their block.
func TestSlackMarkup(t *testing.T) {
	t.Parallel()
	long := question()
	long.Hint, long.Tool, long.Requester = strings.Repeat("<&", 1<<20), strings.Repeat("`", 1<<20), strings.Repeat("*", 1<<20)
	links := []*tasks.Message{}
	for _, link := range []string{"https://x.example/|text", "https://x.example/>", "javascript:alert(1)", "https://x.example/ <!here>", "https://u@x.example/", "https://x.example/`"} {
		m := question()
		m.Link = link
		links = append(links, m)
	}
	for i, text := range slackText(t, append(append(hostile()[:3], long), links...)...) {
		parts := strings.Split(text, "```")
		if len(parts) != 3 && i != 2 {
			t.Errorf("%d blocks of code, want one: %s", len(parts)/2, text)
			continue
		}
		if len(text) > 40_000 || strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), visible.Invisible) {
			t.Errorf("a text of %d bytes, or with invisible characters: %q", len(text), text)
		}
		if i != 2 && strings.ContainsAny(parts[1], "<>`") {
			t.Errorf("markup in %q", parts[1])
		}
		around := strings.ReplaceAll(parts[0]+parts[len(parts)-1], " <"+question().Link+">", "")
		if strings.ContainsAny(around, "<>@|\r") || strings.Count(around, "\n") > 5 {
			t.Errorf("a value outside of the block: %q", around)
		}
	}
}
