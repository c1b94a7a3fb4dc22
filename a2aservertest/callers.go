package a2aservertest

import (
	"context"
	"encoding/json"

	"a2a-server/auth"
)

// callerHeader has the principal of a request, as JSON.
const callerHeader = "A2a-Test-Caller"

// Callers is an auth.Authenticator that believes the caller set by [Server.As]. With it as
// Config.Authenticator, or as part of auth.First, a server has authentication on: it refuses a
// request without a caller. It is for tests only: a client can claim any identity.
type Callers struct{}

// Authenticate implements auth.Authenticator.
func (Callers) Authenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	given := c.Header(callerHeader)
	if len(given) == 0 {
		return auth.Principal{}, auth.ErrNone
	}
	var p auth.Principal
	if err := json.Unmarshal([]byte(given[0]), &p); err != nil {
		return auth.Principal{}, &auth.Error{Code: "invalid_token", Description: callerHeader + " is no principal as JSON: " + err.Error()}
	}
	return p, nil
}

// As returns s with helpers that act as p: with its tenant and its roles they send, follow,
// list and decide. The server needs [Callers] to know the sender.
func (s *Server) As(p auth.Principal) *Server {
	other := *s
	other.caller = p
	return &other
}

// header returns the value of callerHeader, "" for auth.Anonymous.
func (s *Server) header() (string, error) {
	if s.caller.IsAnonymous() {
		return "", nil
	}
	raw, err := json.Marshal(s.caller)
	return string(raw), err
}
