package a2aserver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"a2a-server/auth/peer"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/app/config"
)

// socketUsers returns the authenticator of the users of auth.socket; nil: there are none.
func socketUsers(conf *config.Config) (*peer.Authenticator, error) {
	if len(conf.Auth.Socket) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	known, err := peer.New(localUsers(conf)...)
	if err == nil && !peer.Supported() {
		err = peer.ErrUnsupported
	}
	if err != nil {
		return nil, fmt.Errorf("%w: auth.socket: %w", ErrConfig, err)
	}
	return known, nil
}

// localUsers returns the users in auth.socket.
func localUsers(conf *config.Config) []peer.User {
	var users []peer.User
	for _, u := range conf.Auth.Socket {
		users = append(users, peer.User{
			UID: uint32(u.UID), Name: u.Subject, Person: u.Person, Tenant: cmp.Or(u.Tenant, conf.Auth.Tenant), Roles: conf.Auth.RolesOr(u.Roles),
		})
	}
	return users
}

// openAdmin makes the socket of the users in auth.socket, if there are any. Call it with the
// store open, which keeps other servers out of the data folder.
func (s *Server) openAdmin() error {
	known, err := socketUsers(s.config)
	if err != nil || known == nil {
		return err
	}
	if s.given.keysFolder(s.config) == "" {
		s.log.Warn().Msg("auth.socket has no effect: the store is not a file, so that nothing keeps another server out of the data folder")
		return nil
	}
	path, err := filepath.Abs(s.config.AdminSocket())
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	door, err := adminDoor(s.config, os.Geteuid())
	if err == nil {
		err = door.enters(path)
	}
	if err == nil {
		s.admin, err = adminsocket.Open(adminsocket.Config{Path: path, Group: door.group, Handler: s.socketAPI(known), Log: s.log})
	}
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	return nil
}

// serveAdmin serves the users in auth.socket until closeAdmin. If that fails, so do the
// commands, and nothing else.
func (s *Server) serveAdmin() {
	if s.admin == nil {
		return
	}
	go func() {
		if err := s.admin.Serve(); err != nil {
			s.log.Error().Err(err).Msg("the admin socket does not accept commands any more: restart the server")
		}
	}()
}

// adminCutOff is how long a shutdown waits for the answers to commands.
const adminCutOff = 2 * time.Second

// closeAdmin closes the socket of the users in auth.socket, and removes it.
func (s *Server) closeAdmin(ctx context.Context) error {
	if s.admin == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminCutOff)
	defer cancel()
	return s.admin.Shutdown(ctx)
}
