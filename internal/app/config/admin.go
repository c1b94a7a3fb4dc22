package config

import (
	"path/filepath"
	"strings"

	"a2a-server/internal/setting"
)

// Admin is the socket for the users in auth.socket, and the port of metrics.
type Admin struct {
	Socket string    // absolute path; "": admin.sock in Data
	Mode   AdminMode // Defaults to 0600.
	Group  string    // name or id of the group that may connect with 0660
	// OwnUserDecides allows a user who may decide to be the user that runs the server's
	// programs.
	OwnUserDecides bool
	Listen         string // host:port of metrics; "": nowhere
	Token          Value  // a secret, with which metrics are read
}

// AdminMode is the mode of the admin socket.
type AdminMode string

// The values of AdminMode.
const (
	OwnerConnects AdminMode = "0600"
	GroupConnects AdminMode = "0660"
)

// AdminSocket returns the path of the admin socket.
func (c *Config) AdminSocket() string {
	if c.Admin.Socket != "" {
		return c.Admin.Socket
	}
	return filepath.Join(c.Data, "admin.sock")
}

// OwnSocket returns the path of the socket of the server's own user, who administers there if auth.socket is
// not set.
func (c *Config) OwnSocket() string { return filepath.Join(c.Data, "own.sock") }

// KeysFolder returns the folder of the server's own keys; "" if they are in memory.
func (c *Config) KeysFolder() string {
	if c.Store == "memory" {
		return ""
	}
	return filepath.Join(c.Data, "keys")
}

// StoreFile returns the kind of the store (bolt or memory) and the path of its file, which a store
// in memory does not have.
func (c *Config) StoreFile() (kind, path string) {
	kind, path, _ = strings.Cut(c.Store, ":")
	if kind == "bolt" && path == "" {
		path = filepath.Join(c.Data, "tasks.db")
	}
	return kind, path
}

// checkAdmin checks the keys of admin that depend on each other.
func checkAdmin(l *loader) {
	a := &l.config.Admin
	if a.Listen != "" && !setting.Loopback(a.Listen) && a.Token.Secret == "" && l.sound("admin.listen", "admin.token") {
		l.at("admin.listen", "%s can be reached by other machines, and there is no token; set admin.token, or listen on 127.0.0.1", quote(a.Listen))
	}
	for name, other := range map[string]string{"listen": l.config.Listen, "grpc.listen": l.config.GRPC.Listen} {
		if a.Listen != "" && a.Listen == other && l.sound("admin.listen", name) && !freePort(other) {
			l.at("admin.listen", "%s is the address of %s, too; metrics need a port of their own", quote(a.Listen), name)
		}
	}
}
