package a2aserver

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that sets no log reads the address of its server on the standard error.
func TestDefaultLog(t *testing.T) { //nolint:paralleltest // it replaces the standard error
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = file
	settings := DefaultSettings()
	settings.Listen, settings.Store = "127.0.0.1:0", "memory"
	s, err := New(Config{Settings: settings})
	os.Stderr = before
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+"/livez", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request) // is answered after the log has the address
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"url":"http://`+s.Addr().String()+`"`) || !strings.Contains(string(text), "listening") {
		t.Errorf("the log is %s, %v", text, err)
	}
}
