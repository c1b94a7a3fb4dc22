package config

import (
	"path/filepath"

	"a2a-server/internal/setting"
)

// Admin is the socket for the users in auth.socket, and the port of metrics.
type Admin struct {
	Socket         string `yaml:"socket" flag:"yes" text:"path" doc:"Unix socket for the users in auth.socket. Default: admin.sock in data."`
	Mode           string `yaml:"mode" default:"0600" oneof:"a mode: 0600, 0660" needs:"admin.group: 0660 lets a group connect | auth.socket: no user may do anything on the socket" doc:"Users that may connect: root and the server's user, with 0660 also admin.group."`
	Group          string `yaml:"group" text:"name" needs:"admin.mode: it would have no effect with the mode 0600; with 0660 the group may connect" doc:"Group that may connect with 0660."`
	OwnUserDecides bool   `yaml:"own_user_decides" needs:"auth.socket: no user may do anything on the socket" doc:"Lets the server's own user decide, and so tools, which run as this user."`
	Listen         string `yaml:"listen" flag:"yes" text:"address" doc:"Address for metrics of Prometheus. Other addresses than loopback need admin.token. Default: no metrics."`
	Token          Value  `yaml:"token" as:"secret" form:"{secret: NAME}" needs:"admin.listen" unset:"scrapers need no token" doc:"Bearer token of scrapers."`
}

// GroupConnects is the Mode of an admin socket to which a group may connect.
const GroupConnects = "0660"

// AdminSocket returns the path of the admin socket.
func (c *Config) AdminSocket() string {
	if c.Admin.Socket != "" {
		return c.Admin.Socket
	}
	return filepath.Join(c.Data, "admin.sock")
}

// checkAdmin checks the keys of admin that depend on each other.
func checkAdmin(l *loader) {
	a := &l.config.Admin
	l.refuse(a.Listen != "" && !setting.Loopback(a.Listen) && a.Token.Secret == "" && l.sound("admin.listen", "admin.token"), "admin.listen", "%s can be reached by other machines, and there is no token; set admin.token, or listen on 127.0.0.1", quote(a.Listen))
	for name, other := range map[string]string{"listen": l.config.Listen, "grpc.listen": l.config.GRPC.Listen} {
		l.refuse(a.Listen != "" && a.Listen == other && l.sound("admin.listen", name) && !freePort(other), "admin.listen", "%s is the address of %s, too; metrics need a port of their own", quote(a.Listen), name)
	}
}
