package config

import "path/filepath"

// Admin is the socket for the users in auth.socket.
type Admin struct {
	Socket string    // absolute path; "": admin.sock in Data
	Mode   AdminMode // Defaults to 0600.
	Group  string    // name or id of the group that may connect with 0660
	// OwnUserDecides allows a user who may decide to be the user that runs the server's
	// programs.
	OwnUserDecides bool
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

// KeysFolder returns the folder of the server's own keys; "" if they are in memory.
func (c *Config) KeysFolder() string {
	if c.Store == "memory" {
		return ""
	}
	return filepath.Join(c.Data, "keys")
}

// checkAdmin checks the keys of admin that depend on each other.
func checkAdmin(l *loader) {
	a := &l.config.Admin
	l.needs("admin.group", a.Group != "", "admin.mode", a.Mode == GroupConnects, "it would have no effect with the mode 0600; with 0660 the group may connect")
	l.needs("admin.mode", a.Mode == GroupConnects, "admin.group", a.Group != "", "0660 lets a group connect")
	for name, given := range map[string]bool{"admin.mode": a.Mode == GroupConnects, "admin.own_user_decides": a.OwnUserDecides} {
		l.needs(name, given, "auth.socket", len(l.config.Auth.Socket) > 0, "no user may do anything on the socket")
	}
}
