package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/egress"
	"a2a-server/task/planner/llm/internal/chat"
)

// Config configures a Planner.
type Config struct {
	URL    string                            // base URL of the endpoint, such as http://127.0.0.1:11434/v1; required
	Model  string                            // required
	Key    func() (string, error)            // bearer token, read for each request; nil: none
	Header map[string]func() (string, error) // further headers

	// Allow lists the addresses of URL that are not public, or need no TLS. An address of this
	// machine that is written in URL itself, or localhost, need not be listed.
	Allow []netip.Prefix
	// Own returns the addresses on which the server listens, which are never dialed.
	Own func() []netip.AddrPort

	Instructions string // the system text; "": none
	Reasoning    bool   // clients see the model's reasoning, as artifacts
	Words        Words

	Context    int // tokens of a request, the answer included. Defaults to 32,000.
	MaxTokens  int // tokens of an answer. Defaults to what the server allows.
	Steps      int // answers to a message before the client is asked whether to go on. Defaults to 25.
	TaskTokens int // tokens of a task, after which it fails. 0: no limit.
	DayTokens  int // tokens of a caller a day, in UTC, after which its tasks fail. 0: no limit.

	// Timeout is the limit of the engine for a plan, within which requests are repeated.
	// Defaults to 2 min.
	Timeout time.Duration
	Stall   time.Duration // that the endpoint may be silent. Defaults to half of Timeout.
	Pause   time.Duration // before the first repeat of a request; it doubles. Defaults to 1 s.
	Wait    time.Duration // the first durable wait for an endpoint that fails; it doubles, up to 32 times as long. Defaults to 30 s.

	Log zerolog.Logger // of requests: never of texts

	// Transport carries requests in place of the network, without its guard: Allow and Own do not
	// count. Now is the clock of durations; nil: the system's. Both are for tests.
	Transport http.RoundTripper
	Now       func() time.Time
}

// Words are the texts that tell a model what people decided. The placeholders are {tool_name},
// {final_tool_params} and {feedback}. Each defaults to that of Haystack.
type Words struct {
	Rejected string // result of a call
	Edited   string // before a call whose arguments a person has changed
	Feedback string // after these, if a person gave a reason
}

func (c Config) withDefaults() Config {
	c.Context = cmp.Or(c.Context, 32_000)
	c.Steps = cmp.Or(c.Steps, 25)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Minute)
	c.Stall = cmp.Or(c.Stall, c.Timeout/2)
	c.Pause = cmp.Or(c.Pause, time.Second)
	c.Wait = cmp.Or(c.Wait, 30*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Words.Rejected = cmp.Or(c.Words.Rejected, "Tool execution for '{tool_name}' was rejected by the user.")
	c.Words.Edited = cmp.Or(c.Words.Edited, "The parameters for tool '{tool_name}' were updated by the user to:\n{final_tool_params}")
	c.Words.Feedback = cmp.Or(c.Words.Feedback, "With user feedback: {feedback}")
	return c
}

// local matches the names of this machine.
var local = regexp.MustCompile(`(?i)^(.*\.)?localhost$`)

// client returns the client of a configuration. An endpoint that is neither on this machine nor in
// a network that is listed needs https: messages and key could be read on the way. The addresses of
// a name are known only when it is dialed.
func (c *Config) client() (*chat.Client, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("url: is not the base URL of an endpoint; write it as http://127.0.0.1:11434/v1")
	case c.Model == "":
		return nil, errors.New("model: is missing; write the name by which the endpoint knows the model")
	}
	allow, host := c.Allow, u.Hostname()
	if local.MatchString(host) {
		allow = append(allow[:len(allow):len(allow)], netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	} else if at, err := netip.ParseAddr(host); err == nil && at.IsLoopback() {
		allow = append(allow[:len(allow):len(allow)], netip.PrefixFrom(at, at.BitLen()))
	}
	to := egress.Config{Allow: allow, Own: c.Own, OnlyAllowed: u.Scheme == "http"}
	if to.OnlyAllowed && (len(allow) == 0 || refused(to, host)) {
		return nil, errors.New("url: sends messages and key in clear; write https, or list the network of the endpoint in networks")
	}
	client, err := chat.New(chat.Config{
		URL: c.URL, Key: c.Key, Header: c.Header, Stall: c.Stall,
		Egress: to, Transport: c.Transport,
	})
	if err != nil {
		return nil, fmt.Errorf("networks: %w", err)
	}
	return client, nil
}

// refused reports whether a host is an address that is never dialed.
func refused(to egress.Config, host string) bool {
	to.Own = nil // they are known later
	d, err := egress.NewDialer(to)
	if err != nil {
		return false // the client says why
	}
	_, is := errors.AsType[*egress.RefusedError](d.Check(host, "80"))
	return is
}
