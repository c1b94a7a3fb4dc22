package a2aserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
	"a2a-server/task/inbox/api"
)

// makeAPI makes the approvals API.
func (s *Server) makeAPI() {
	s.approvals = api.New(api.Config{
		Approvals: s.engine.Approvals(), Tasks: s.engine.Tasks(), Events: s.engine, Audit: s.engine, ReserveRead: s.engine.ReserveRead,
		Webhooks: s.webhooks, Notifications: s.notify.list, Revoked: s.revoked, Incarnation: s.store.incarnation,
		Agent: s.settings.Agent.Name, Version: Version(), Log: s.log,
	})
}

// approvalsAPI returns the handler of the approvals API on the network. It shares everything
// that limits and authenticates requests with the protocol.
func (s *Server) approvalsAPI(protocol *a2a.Server, guard httpd.Guard) http.Handler {
	requests, streams := protocol.Requests()
	return api.Handler(s.approvals, s.door(requests, guard, streams))
}

func (s *Server) door(requests *httpd.Frontend, guard httpd.Guard, streams *httpd.Shares) api.Door {
	return api.Door{
		Requests: requests, Guard: guard, Refusal: s.health.Refusal, Streams: streams,
		Heartbeat: s.limits.Heartbeat, WriteTimeout: s.limits.WriteTimeout,
	}
}

// Limits of the admin socket.
const (
	socketBody    = 1 << 20
	socketStreams = 100
)

// socketAPI returns the handler of the approvals API on the admin socket, for the users that
// known knows.
func (s *Server) socketAPI(known auth.Authenticator) http.Handler {
	requests, guard := s.socketRequests(known)
	mux := s.operations(requests, guard)
	mux.Handle("/", api.Handler(s.approvals, s.door(requests, guard, httpd.NewShares("streams are open", socketStreams, socketStreams))))
	return programsOnly(mux)
}

// socketRequests returns the front end of a socket for the users that known knows, and its guard.
func (s *Server) socketRequests(known auth.Authenticator) (*httpd.Frontend, httpd.Guard) {
	guard := httpd.Guard{Hosts: []string{adminsocket.Host}}
	same := func(a, b auth.Principal, action auth.Action) bool {
		return engine.ScopeFor(a, action) == engine.ScopeFor(b, action)
	}
	return httpd.New(httpd.Config{
		Authenticator: known, Guard: guard, MaxBody: socketBody, Bodies: 16 * socketBody, Media: []string{"application/json"},
		ReadRate: 64 << 10, Recheck: 15 * time.Second, Same: same, Log: s.log, Now: s.given.Now,
	}), guard
}

// ownSocketAPI returns the handler of the socket of the server's own user: without the approvals API, so that
// programs that tools start, which run as this user, decide nothing there.
func (s *Server) ownSocketAPI(known auth.Authenticator) http.Handler {
	requests, guard := s.socketRequests(known)
	return programsOnly(s.operations(requests, guard))
}

// operations returns the handler of the operations of an admin.
func (s *Server) operations(requests *httpd.Frontend, guard httpd.Guard) *http.ServeMux {
	operators := guard.Wrap(debugapi.Handler(debugapi.Config{
		Requests: requests, SetLevel: s.given.Inside.LogLevel, Ready: http.HandlerFunc(s.health.ServeDetails),
		Refusal: s.health.Refusal,
		Backup:  s.store.backup(), BackedUp: s.store.backedUp, Resume: s.engine.Resume, Reload: s.reload, Log: s.log,
	}), a2a.WriteRefusal)
	mux := http.NewServeMux()
	for _, path := range []string{debugapi.ProfilePath, debugapi.LevelPath, debugapi.ReadyPath, debugapi.BackupPath, debugapi.BackupPath + "/", debugapi.ResumePath, debugapi.ReloadPath} {
		mux.Handle(path, operators)
	}
	return mux
}

// programsOnly refuses browsers, which some program would have to connect to the socket.
func programsOnly(h http.Handler) http.Handler {
	const refusal = `{"status":403,"title":"The caller may not do this","detail":"only programs may use this socket, and no pages","reason":"PERMISSION_DENIED"}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, refusal) // the client is gone if it fails
	})
}

// revoked reports whether somebody's API key was removed or revoked, or has expired. Of other
// credentials the server does not learn.
func (s *Server) revoked(p auth.Principal) bool {
	if s.Keys == nil {
		return false
	}
	_, ours, valid := s.Keys.Holder(p.Subject)
	return ours && !valid
}

// openAdmin makes the socket of the operator's local users or, without any, of the server's own user. Call it with the
// store open, which keeps other servers out of the data folder.
func (s *Server) openAdmin() error {
	admin := s.parts.Admin
	if admin == nil {
		s.openOwn()
		return nil
	}
	if err := s.listenAdmin(admin.Path, admin.Group, s.socketAPI(auth.Completing(admin.Users, s.complete))); err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	return nil
}

// listenAdmin makes the socket at path, which a group may use, too; 0: none.
func (s *Server) listenAdmin(path string, group int, h http.Handler) error {
	l, err := adminsocket.Listen(path, group)
	if err != nil {
		return err
	}
	s.admin = sidePort{httpd.NewPort(l), httpd.NewServer(h, s.log)}
	s.admin.web.ConnContext = peer.WithConn
	return nil
}

// openOwn makes the socket of the server's own user, if the data folder is this server's alone. Without it,
// the server lacks the commands that need it, and nothing else.
func (s *Server) openOwn() {
	if s.given.keysFolder() == "" {
		return
	}
	path, err := filepath.Abs(s.settings.OwnSocket())
	var known *peer.Authenticator
	if err == nil {
		known, err = ownUsers(os.Geteuid())
	}
	if err == nil {
		err = s.listenAdmin(path, 0 /* group */, s.ownSocketAPI(known))
	}
	if err != nil && !errors.Is(err, peer.ErrUnsupported) {
		s.log.Warn().Err(err).Msg("there is no socket for the server's own user: backups and profiles of the running server need auth.socket")
	}
}

// ownUsers returns the authenticator of the user that runs the server, and of root, who may become it. They
// administer, and decide nothing.
func ownUsers(owner int) (*peer.Authenticator, error) {
	users := []peer.User{{UID: uint32(owner), Name: "own-user", Roles: []string{auth.RoleAdmin}}}
	if owner != 0 {
		users = append(users, peer.User{UID: 0, Name: "root", Roles: []string{auth.RoleAdmin}})
	}
	if !peer.Supported() {
		return nil, peer.ErrUnsupported
	}
	return peer.New(users...)
}
