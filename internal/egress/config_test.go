package egress

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config Config
		want   []string // what the error says; nil: no error
	}{
		{"zero", Config{}, nil},
		{"no certificate", Config{RootCAs: []byte("x")}, []string{"root certificates:"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.config.Validate()
			if (err != nil) != (tc.want != nil) {
				t.Errorf("Validate() = %v, want an error: %v", err, tc.want != nil)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Validate() = %v, want one with %q", err, part)
				}
			}
			if _, made := NewClient(tc.config); (made != nil) != (err != nil) {
				t.Errorf("NewClient() = %v, want %v", made, err)
			}
			if _, made := NewDialer(tc.config); (made != nil) != (err != nil) {
				t.Errorf("NewDialer() = %v, want %v", made, err)
			}
		})
	}
}

func TestRootCAs(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the client that trusts nobody
	s.StartTLS()
	t.Cleanup(s.Close)
	get := func(c Config) error {
		_, _, err := fetch(t, newClient(t, c), http.MethodGet, s.URL)
		return err
	}
	c := listed()
	if err := get(c); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("Do() without the certificate = %v, want an error", err)
	}
	c.RootCAs = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := get(c); err != nil {
		t.Errorf("Do() with the certificate = %v, want nil", err)
	}
}

func TestMaxConnsPerHost(t *testing.T) {
	t.Parallel()
	const limit, requests = 2, 8
	var open atomic.Int64
	entered := make(chan struct{}, requests)
	leave := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if open.Add(1) > limit {
			t.Errorf("more than %d requests at once", limit)
		}
		entered <- struct{}{}
		<-leave
		open.Add(-1)
	}))
	t.Cleanup(s.Close)
	c := listed()
	c.MaxConnsPerHost = limit
	client := newClient(t, c)
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			if _, _, err := fetch(t, client, http.MethodPost, s.URL); err != nil {
				t.Error(err)
			}
		})
	}
	for range limit {
		<-entered
	}
	close(leave)
	all.Wait()
}
