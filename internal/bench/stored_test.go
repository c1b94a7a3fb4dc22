package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	a2aserver "a2a-server"

	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// BenchmarkStored prints how much the file grows for each message, sent over HTTP: one that
// waits for an approval, and an echo of 100,000 random characters.
func BenchmarkStored(b *testing.B) {
	for _, c := range []struct {
		name    string
		n       int
		state   string
		message func(n int) string
	}{
		{"parked", 10_000, "TASK_STATE_INPUT_REQUIRED", func(n int) string { return fmt.Sprintf("/transfer_money amount=%d to=alice", 1+n%1000) }},
		{"echo", 200, "TASK_STATE_COMPLETED", func(int) string {
			text := make([]byte, 75_000)
			_, _ = rand.Read(text)
			return "/echo text=" + base64.StdEncoding.EncodeToString(text)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				folder := b.TempDir()
				sendAll(b, folder, 100, c.state, c.message)
				before := sizeOf(b, folder)
				began := time.Now()
				sendAll(b, folder, c.n, c.state, c.message)
				b.ReportMetric(float64(time.Since(began).Microseconds())/float64(c.n), "µs/task")
				b.ReportMetric(float64(sizeOf(b, folder)-before)/float64(c.n), "bytes/task")
			}
		})
	}
}

// sizeOf returns how much of the store's file has pages.
func sizeOf(b *testing.B, folder string) (size int64) {
	b.Helper()
	file, err := bolt.Open(filepath.Join(folder, "tasks.db"), 0, &bolt.Options{ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	err = file.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		return nil
	})
	if err := errors.Join(err, file.Close()); err != nil {
		b.Fatal(err)
	}
	return size
}

// sendAll starts a server and sends it messages, 16 at a time.
func sendAll(b *testing.B, folder string, n int, state string, message func(n int) string) {
	b.Helper()
	tools, err := builtin.New(builtin.Config{Ledger: filepath.Join(folder, "ledger.jsonl")})
	if err != nil {
		b.Fatal(err)
	}
	server, err := a2aserver.New(a2aserver.Config{Set: map[string]string{"listen": "127.0.0.1:0", "data": folder}, Tools: []tool.Toolset{tools}, Log: logger()})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	var senders sync.WaitGroup
	numbers := make(chan int)
	for range 16 {
		senders.Go(func() {
			for i := range numbers {
				if err := sendMessage("http://"+server.Addr().String(), state, message(i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	senders.Wait()
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

func sendMessage(url, state, text string) error {
	body, err := json.Marshal(map[string]any{"message": map[string]any{"messageId": rand.Text(), "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, url+"/message:send", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("A2A-Version", "1.0")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if !bytes.Contains(answer, []byte(state)) {
		return fmt.Errorf("%s: %.300s", response.Status, answer)
	}
	return nil
}
