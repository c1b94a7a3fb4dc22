package app

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/cli"
)

// written is a stream that hands on what is written.
type written func(text string)

func (w written) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// Without a configuration the server prints where to look, and that page has the sample calls;
// --demo has them in plain words, in a data folder of its own.
func TestDemo(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		sample string
		data   string
	}{
		"unconfigured": {nil, `value="/transfer_money amount=5000 to=alice"`, "data"},
		"demo":         {[]string{"--demo"}, `value="Pay alice 250"`, demoData},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, code := make(chan string, 1), make(chan int, 1)
			go func() {
				code <- Run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, c.args...), nil, nil, written(func(text string) { out <- text }), io.Discard)
			}()
			var url string
			select {
			case text := <-out:
				url = strings.TrimPrefix(strings.TrimSuffix(text, "\n"), "Open ")
			case got := <-code:
				t.Fatalf("the server exits with %d", got)
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/ui/try", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(resp.Body)
			if _ = resp.Body.Close(); err != nil || !strings.Contains(string(page), c.sample) {
				t.Errorf("%s has no %s: %v\n%s", url, c.sample, err, page)
			}
			if _, err := os.Stat(filepath.Join(dir, c.data, "tasks.db")); err != nil {
				t.Error(err)
			}
			cancel()
			if got := <-code; got != cli.ExitOK {
				t.Errorf("exits with %d", got)
			}
		})
	}
}

// A configured server prints no such line for a program, so that nothing reads its output as a demo's.
func TestNoDemo(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"a file": {"--config", write(t, "a2a-server.yaml", "")},
		"a key":  {"--agent-name", "bank"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		listens := written(func(text string) {
			if strings.Contains(text, "listening") {
				cancel()
			}
		})
		if code := Run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...), nil, nil, &out, listens); code != cli.ExitOK || out.Len() > 0 {
			t.Errorf("%s: exits with %d and prints %q", name, code, out.String())
		}
		cancel()
	}
}
