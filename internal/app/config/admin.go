package config

import (
	"path/filepath"

	"a2a-server/internal/setting"
)

// Admin is the socket for the users in auth.socket.
type Admin struct {
	Socket string    // absolute path; "": admin.sock in Data
	Mode   AdminMode // Defaults to 0600.
	Group  string    // name or id of the group that may connect with 0660
	// OwnUserDecides allows a user who may decide to be the one as whom the server runs
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

// keys returns the keys below admin.
func (a *Admin) keys() []key {
	return []key{
		one("admin.socket", "", setting.Text(&a.Socket, "a file", setting.OneLine),
			"The Unix socket for the users in auth.socket (docs/admin.md). Without it, admin.sock in data. Users other than root and the server's own need a folder that they may enter, and admin.mode 0660."+fileInFolder),
		one("admin.mode", string(OwnerConnects), setting.Choice(&a.Mode, "a mode", OwnerConnects, GroupConnects),
			"Who may connect to the socket besides root: with 0600 the user as whom the server runs, with 0660 also the members of admin.group. What they may do is in auth.socket."),
		one("admin.group", "", setting.Text(&a.Group, "a group", setting.OneLine),
			"The group, by name or number, that may connect with admin.mode 0660. The server's user has to be a member."),
		one("admin.own_user_decides", "false", setting.Bool(&a.OwnUserDecides),
			"Allows a user in auth.socket who may decide approvals to be the one as whom the server runs. Programs that tools start run as that user, and could approve their own calls. With false such a user is refused when there are tools with a command or MCP servers that are started."),
	}
}

// checkAdmin checks what depends on several keys of admin, and makes its path absolute.
func (l *loader) checkAdmin() {
	a := &l.config.Admin
	l.locate("admin.socket", &a.Socket)
	l.needs("admin.group", a.Group != "", "admin.mode", a.Mode == GroupConnects, "it would have no effect with the mode 0600; with 0660 the group may connect")
	l.needs("admin.mode", a.Mode == GroupConnects, "admin.group", a.Group != "", "0660 lets a group connect")
	for name, given := range map[string]bool{"admin.mode": a.Mode == GroupConnects, "admin.own_user_decides": a.OwnUserDecides} {
		l.needs(name, given, "auth.socket", len(l.config.Auth.Socket) > 0, "nobody could do anything on the socket")
	}
}
