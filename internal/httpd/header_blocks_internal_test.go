package httpd

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// frame is a frame of HTTP/2.
func frame(kind, flags byte, payload string) string {
	return string([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 1}) + payload
}

// Each header block has its own time, however its bytes come, and whatever deadlines the
// server sets.
func TestTimeHeaders(t *testing.T) {
	t.Parallel()
	const kindData = 0x0
	begun, ended := frame(frameHeaders, 0, "begin"), frame(frameContinuation, flagEndHeaders, "end")
	for name, tc := range map[string]struct {
		steps  []string // a second apart; the limit is 2.5 s
		closed time.Duration
	}{
		"never ends":       {[]string{preface + begun, "", "", ""}, 2500 * time.Millisecond},
		"continued":        {[]string{preface, begun, frame(frameContinuation, 0, ""), frame(frameContinuation, 0, ""), ended}, 3500 * time.Millisecond},
		"end in pieces":    {[]string{preface + begun + ended[:5], ended[5:10], ended[10:], "", ""}, 0},
		"half a frame":     {[]string{preface + begun[:12], begun[12:13], "", ""}, 2500 * time.Millisecond},
		"ends":             {[]string{preface + begun, "", ended, "", "", ""}, 0},
		"ends by itself":   {[]string{preface + frame(frameHeaders, flagEndHeaders, "all"), "", "", "", ""}, 0},
		"one after other":  {[]string{preface + begun, ended + begun, ended + begun, ended + begun, ended, "", ""}, 0},
		"the last of many": {[]string{preface + begun, ended + begun, ended + begun, "", "", ""}, 4500 * time.Millisecond},
		"again, later":     {[]string{preface + begun + ended, "", "", "", begun, "", "", ""}, 6500 * time.Millisecond},
		"in data":          {[]string{preface + frame(kindData, 0, begun), "", "", "", ""}, 0},
		"other protocol":   {[]string{"GET / HTTP/1.1\r\n" + begun, "", "", "", ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer client.Close()
				timed := TimeHeaders(server, 2500*time.Millisecond)
				start, closed := time.Now(), make(chan time.Duration, 1)
				go func() {
					_, _ = io.Copy(io.Discard, timed)
					closed <- time.Since(start)
				}()
				for _, text := range tc.steps {
					_, _ = io.WriteString(client, text) // fails once it is closed
					_ = timed.SetDeadline(time.Time{})  // likewise
					<-time.After(time.Second)
				}
				_ = client.Close()
				want := tc.closed
				if want == 0 { // by the client
					want = time.Duration(len(tc.steps)) * time.Second
				}
				if got := <-closed; got != want {
					t.Errorf("it is closed after %v, want %v", got, want)
				}
			})
		})
	}
}
