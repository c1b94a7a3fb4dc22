package debugapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/httpd"
)

// A server whose store is no file neither makes a backup nor takes note of one.
func TestNoBackup(t *testing.T) {
	t.Parallel()
	admin := auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
		return auth.Principal{Subject: "test:admin", Roles: []string{auth.RoleAdmin}, Method: "test"}, nil
	})
	h := debugapi.Handler(debugapi.Config{
		Requests: httpd.New(httpd.Config{Authenticator: admin, Log: zerolog.Nop(), Now: time.Now}),
		Refusal:  func() string { return "" },
	})
	for method, path := range map[string]string{http.MethodGet: debugapi.BackupPath, http.MethodPost: debugapi.BackupPath + "/2026-11-30T00:00:00Z"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
		if w.Code != http.StatusNotImplemented {
			t.Errorf("%s %s is answered with %d %s", method, path, w.Code, w.Body)
		}
	}
}
