package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/internal/directory"
	"a2a-server/internal/httpd"
	"a2a-server/store/memstore"
)

// A step that fails or hangs does not keep those after it from being done.
func TestSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := zerolog.New(&out)
		failed := errors.New("failed")
		release := make(chan struct{})
		start := time.Now()
		err := runSteps(t.Context(), log, []step{
			{"one", time.Second, func(context.Context) error { return failed }},
			{"two", time.Second, func(context.Context) error { <-release; return nil }},
			{"three", time.Second, func(context.Context) error { <-time.After(time.Second / 2); return nil }},
		})
		if !errors.Is(err, failed) || !strings.Contains(err.Error(), "two: it took longer than 1s") {
			t.Errorf("runSteps() = %v", err)
		}
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("they took %v, want 1.5s", took)
		}
		var said []string
		for line := range bytes.Lines(out.Bytes()) {
			var l struct {
				Level, Step string
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			said = append(said, l.Step+" "+l.Level)
		}
		if diff := cmp.Diff([]string{"one error", "two error", "three info"}, said); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		close(release)
	})
}

// at is a listener that has an address, and nothing else.
type at struct {
	net.Listener
	addr *net.TCPAddr
}

func (a at) Addr() net.Addr { return a.addr }

// A server that lets everybody in says so every minute, as long as it runs.
func TestOpenServerSaysSoEveryMinute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ip   string
		auth Authentication
		url  string // public_url
		want int
	}{
		"public":                 {ip: "192.0.2.1", want: 3},
		"everywhere":             {ip: "::", want: 3},
		"loopback":               {ip: "127.0.0.1"},
		"behind a proxy":         {ip: "127.0.0.1", url: "https://agent.example.com", want: 3},
		"public, with access":    {ip: "192.0.2.1", auth: Authentication{Authenticator: auth.First()}},
		"proxied, authenticated": {ip: "127.0.0.1", auth: Authentication{Authenticator: auth.First()}, url: "https://agent.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory, err := openStore(&Settings{Store: "memory"}, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				s := &Server{log: zerolog.New(&out), settings: &Settings{PublicURL: c.url}, Authentication: c.auth, port: httpd.NewPort(at{addr: &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 80}}), store: memory}
				r := &running{Server: s}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Second)
				defer cancel()
				if err := r.wait(ctx); err != nil {
					t.Fatal(err)
				}
				where := s.Addr().String()
				if c.url != "" {
					where = c.url
				}
				said := strings.Count(out.String(), "no authentication on a public address")
				if named := strings.Count(out.String(), `"address":"`+where); said != c.want || named != c.want {
					t.Errorf("it said so %d times, want %d:\n%s", said, c.want, out.String())
				}
			})
		})
	}
}

// A name may lead to a public address, which the configuration cannot know: what is listened
// on decides.
func TestListenOnPublicAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen              string
		authenticated, open bool // open: insecure_no_auth
		listens             bool
	}{
		{"0.0.0.0:0", false, false, false},
		{"[::]:0", false, false, false},
		{"0.0.0.0:0", true, false, true},
		{"0.0.0.0:0", false, true, true},
		{"localhost:0", false, false, true},
	} {
		parts := &Parts{}
		if c.authenticated {
			parts.Authentication.Authenticator = auth.First()
		}
		web, _, _ := ports(&Settings{InsecureNoAuth: c.open, Listen: c.listen}, parts)
		l, err := new(Server).listen(web)
		if err == nil {
			_ = l.Close() // it served nobody
		}
		if (err == nil) != c.listens || err != nil && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "set auth")) {
			t.Errorf("listen(%+v) = %v", c, err)
		}
	}
	c := &Settings{}
	c.GRPC.Listen = "0.0.0.0:0"
	_, grpc, _ := ports(c, &Parts{})
	s := &Server{settings: c}
	if err := s.listenGRPC(grpc, &httpd.Listener{}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "set auth") {
		t.Errorf("listenGRPC() = %v, want what to do", err)
	}
	_ = s.grpc.port.Close() // it served nobody
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ip     string
		config Settings
		want   []string
	}{
		"loopback":       {ip: "127.0.0.1", want: []string{"127.0.0.1", "[::1]", "localhost"}},
		"another of it":  {ip: "127.0.0.2", want: []string{"127.0.0.1", "127.0.0.2", "[::1]", "localhost"}},
		"version 6":      {ip: "::1", want: []string{"127.0.0.1", "[::1]", "localhost"}},
		"more names":     {ip: "127.0.0.1", config: Settings{AllowedHosts: []string{"a.example"}}, want: []string{"127.0.0.1", "[::1]", "a.example", "localhost"}},
		"behind a proxy": {ip: "127.0.0.1", config: Settings{PublicURL: "https://A.example:8443/x"}, want: []string{"127.0.0.1", "[::1]", "a.example", "localhost"}},
		"its version 6":  {ip: "127.0.0.1", config: Settings{PublicURL: "https://[2001:db8::1]:8443"}, want: []string{"127.0.0.1", "[2001:db8::1]", "[::1]", "localhost"}},
		"by its name":    {ip: "127.0.1.1", config: Settings{Listen: "Agent.local:8080"}, want: []string{"127.0.0.1", "127.0.1.1", "[::1]", "agent.local", "localhost"}},
		"every address":  {ip: "127.0.0.1", config: Settings{Listen: ":8080"}, want: []string{"127.0.0.1", "[::1]", "localhost"}},
		"public":         {ip: "192.0.2.1"},
		"public, named":  {ip: "192.0.2.1", config: Settings{AllowedHosts: []string{"a.example"}}, want: []string{"127.0.0.1", "192.0.2.1", "[::1]", "a.example", "localhost"}},
		"all, named":     {ip: "::", config: Settings{AllowedHosts: []string{"a.example"}, PublicURL: "https://b.example"}, want: []string{"127.0.0.1", "[::1]", "a.example", "b.example", "localhost"}},
		"everywhere":     {ip: "::"},
	} {
		got := guardOf(&c.config, &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 80})
		if diff := cmp.Diff(c.want, got.Hosts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Probes come to whatever address the process has just then, but not from pages.
func TestProbeGuard(t *testing.T) {
	t.Parallel()
	g := httpd.Guard{Hosts: []string{"a.example"}, Origins: []string{"https://a.example"}}
	if got := probeGuard(g, &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}); len(got.Hosts) > 0 || len(got.Origins) != 1 {
		t.Errorf("on a public address probes are guarded by %+v", got)
	}
	if diff := cmp.Diff(g, probeGuard(g, &net.TCPAddr{IP: net.ParseIP("127.0.0.1")})); diff != "" {
		t.Errorf("on a loopback address (-want +got):\n%s", diff)
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{"127.0.0.1": "http://127.0.0.1:80", "::1": "http://[::1]:80", "0.0.0.0": "http://localhost:80", "::": "http://localhost:80"} {
		if got := (&Server{settings: &Settings{}, parts: &Parts{}}).baseURL(&net.TCPAddr{IP: net.ParseIP(ip), Port: 80}); got != want {
			t.Errorf("baseURL(%s) = %s, want %s", ip, got, want)
		}
	}
	if got := (&Server{settings: &Settings{}, parts: &Parts{}}).baseURL(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0", Port: 80}); got != "http://[fe80::1%25eth0]:80" {
		t.Errorf("baseURL() = %s, which nobody can open", got)
	}
	if got := (&Server{settings: &Settings{PublicURL: "https://a.example"}}).baseURL(&net.TCPAddr{}); got != "https://a.example" {
		t.Errorf("baseURL() = %s", got)
	}
}

func TestBuildOf(t *testing.T) {
	t.Parallel()
	const commit, at = "0123456789abcdef", "2026-11-27T00:28:13Z"
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: at}, {Key: "vcs.modified", Value: modified}}
	}
	for name, test := range map[string]struct {
		release string
		info    debug.BuildInfo
		want    Build
	}{
		"release":       {"v1.2.3 " + commit + " " + at, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Build{"v1.2.3", commit, at}},
		"module":        {"", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, Build{Version: "v1.2.3"}},
		"git":           {"", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: vcs("false")}, Build{"v1.2.3", commit, at}},
		"older go":      {"", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs("false")}, Build{"0123456789ab", commit, at}},
		"changed since": {"", debug.BuildInfo{Settings: vcs("true")}, Build{"0123456789ab+dirty", commit, at}},
		"unknown":       {"", debug.BuildInfo{}, Build{Version: "devel"}},
	} {
		if got := buildOf(test.release, &test.info); got != test.want {
			t.Errorf("%s: buildOf() = %+v, want %+v", name, got, test.want)
		}
	}
}

// Whoever was anonymous makes no grant, and has no vote, where callers authenticate.
func TestAnonymousMaker(t *testing.T) {
	t.Parallel()
	s := &Server{settings: &Settings{}}
	if by, err := s.current(t.Context(), auth.Anonymous()); err != nil || !by.IsAnonymous() {
		t.Errorf("current(anonymous) = %v, %v without authentication", by, err)
	}
	s.Authenticator = auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
		return auth.Principal{}, auth.ErrNone
	})
	by, err := s.current(t.Context(), auth.Anonymous())
	if _, is := errors.AsType[*auth.WithdrawnError](err); !is {
		t.Errorf("current(anonymous) = %v, %v with authentication, want them withdrawn", by, err)
	}
}

// A user of a program's own socket is as the program knows them, whatever auth.socket has.
func TestMakerOnTheSocketOfAProgram(t *testing.T) {
	t.Parallel()
	h, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{settings: &Settings{}, persons: directory.New(directory.Config{Store: h})}
	s.given.Authenticator = &peer.Authenticator{}
	was := auth.Principal{Subject: "socket:ann", Method: peer.Method}
	if by, err := s.current(t.Context(), was); err != nil || !by.Equal(was) {
		t.Errorf("current() = %v, %v, want them as they were", by, err)
	}
}
