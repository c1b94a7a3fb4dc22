package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	a2aserver "a2a-server"
	"a2a-server/internal/adminsocket"

	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/visible"
)

// socket returns the admin socket; nil: there is none. checking: it is only checked whether there can be one.
func (o *Operator) socket(checking bool) (*a2aserver.Socket, error) {
	known, err := users(o.conf)
	if err != nil || known == nil {
		return nil, err
	}
	if o.given.Store != nil || o.conf.KeysFolder() == "" {
		o.given.Log.Warn().Msg("auth.socket has no effect: the store is not a file, so that nothing keeps another server out of the data folder")
		return nil, nil //nolint:nilnil // there is none
	}
	owner := os.Geteuid()
	if checking {
		owner = ownerFor(o.conf)
	}
	path, err := filepath.Abs(o.conf.AdminSocket())
	var d *door
	if err == nil {
		d, err = newDoor(o.conf, owner)
	}
	if err == nil {
		err = d.enters(path)
	}
	if err != nil {
		err = fmt.Errorf("admin socket: %w", err)
		if checking { // a unit may have what is missing
			return &a2aserver.Socket{Path: path, Check: func() error { return err }}, nil
		}
		return nil, err
	}
	return &a2aserver.Socket{Path: path, Group: d.group, Users: known, Check: func() error { return adminsocket.Check(path, d.group) }}, nil
}

// A door has the rules for connections to the admin socket.
type door struct {
	conf  *config.Config
	group int // its id; 0: only the owner
	owner int // uid of the server; -1: that is not known
}

// newDoor returns the rules for connections to the admin socket of a server that runs as
// owner. It returns an error if a user in auth.socket may not connect, or could approve the
// calls of programs that run as the same user.
func newDoor(conf *config.Config, owner int) (*door, error) {
	d := &door{conf: conf, owner: owner}
	if conf.Admin.Mode == config.GroupConnects {
		var err error
		if d.group, err = groupID(conf.Admin.Group); err != nil {
			return nil, err
		}
	}
	for _, u := range conf.Auth.Socket {
		if !d.admits(u.UID) {
			return nil, fmt.Errorf("%w: auth.socket: the user with the uid %d could not connect to the admin socket, whose mode is %s: %s", a2aserver.ErrConfig, u.UID, conf.Admin.Mode, d.remedy())
		}
	}
	if err := checkPrograms(conf, conf, owner); err != nil {
		return nil, err
	}
	return d, nil
}

// ownerFor returns the uid as which a server with a configuration runs: this process's, or the
// owner of its data folder if an administrator checks the configuration; -1: that is not known.
func ownerFor(conf *config.Config) int {
	own := os.Geteuid()
	if own != 0 {
		return own
	}
	info, err := os.Stat(conf.Data)
	if err != nil {
		return -1
	}
	if uid, _, known := adminsocket.OwnersOf(info); known {
		return uid
	}
	return own
}

// groupID returns the id of a group by its name or number.
func groupID(text string) (int, error) {
	id := text
	if _, err := strconv.ParseUint(text, 10, 31); err != nil {
		g, err := user.LookupGroup(text)
		if err != nil {
			return 0, fmt.Errorf("%w: admin.group: there is no group %s on this machine; create it, or write another", a2aserver.ErrConfig, visible.Quote(text, 80))
		}
		id = g.Gid
	}
	n, err := strconv.Atoi(id)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: admin.group: %s cannot be the group of a socket; write another", a2aserver.ErrConfig, visible.Quote(text, 80))
	}
	return n, nil
}

func (d *door) remedy() string {
	if d.group == 0 {
		return "set admin.mode to 0660, admin.group to a group of theirs, and admin.socket to a path in a folder that they may enter"
	}
	return fmt.Sprintf("make them a member of the group %s", visible.Line(d.conf.Admin.Group))
}

// admits reports whether mode and group of the socket let a user connect. Users whom this
// machine cannot name are believed to be members of the group.
func (d *door) admits(uid int) bool {
	if uid == 0 || uid == d.owner {
		return true
	}
	if d.group == 0 {
		return d.owner < 0 // an administrator checks it before the first start
	}
	who, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return true
	}
	groups, err := who.GroupIds()
	return err != nil || slices.Contains(groups, strconv.Itoa(d.group))
}

// enters returns an error if a user may not enter the folder of the socket. A data folder that does
// not exist is for its owner only, as the server makes it.
func (d *door) enters(path string) error {
	folder, mode, gid, known := filepath.Dir(path), fs.FileMode(0o700), 0, false
	data, _ := filepath.Abs(d.conf.Data)
	switch info, err := os.Stat(folder); {
	case err == nil:
		mode = info.Mode().Perm()
		_, gid, known = adminsocket.OwnersOf(info)
	case folder != data || !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the folder of admin.socket: %w", a2aserver.ErrConfig, err)
	case d.owner < 0:
		return nil
	}
	for _, u := range d.conf.Auth.Socket {
		if u.UID != 0 && u.UID != d.owner && mode&0o001 == 0 && (mode&0o010 == 0 || !known || gid != d.group) {
			return fmt.Errorf("%w: auth.socket: the user with the uid %d may not enter %s, which has the mode %04o: set admin.socket to a path in another folder, such as one below /run", a2aserver.ErrConfig, u.UID, folder, mode)
		}
	}
	return nil
}

// checkPrograms returns an error if programs that the tools of conf start run as a user with
// the right to decide: they could approve calls, their own included. started is the
// configuration that the server was started with, which has the users, and owner the uid of
// the server; -1: that is not known.
func checkPrograms(started, conf *config.Config, owner int) error {
	if started.Admin.OwnUserDecides || owner < 0 || !slices.ContainsFunc(conf.Tools.Entries, func(t config.Tool) bool { return len(t.Run)+len(t.Command) > 0 }) {
		return nil
	}
	users, err := localUsers(started)
	if err != nil {
		return fmt.Errorf("%w: auth.socket: %w", a2aserver.ErrConfig, err)
	}
	for _, u := range users {
		decides := auth.Principal{Tenant: u.Tenant, Subject: u.Name, Roles: u.Roles}.Whole(auth.Decide)
		if decides && (owner == 0 || int(u.UID) == owner) { // root may become any user
			return fmt.Errorf("%w: auth.socket: programs that tools start run as the user %s, who may decide approvals, so they could approve their own calls: run the server as a user who may not decide, or set admin.own_user_decides if they are to be trusted", a2aserver.ErrConfig, visible.Line(peer.Method+":"+u.Name))
		}
	}
	return nil
}

// users returns the authenticator of the users of auth.socket; nil: there are none.
func users(conf *config.Config) (*peer.Authenticator, error) {
	if len(conf.Auth.Socket) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	users, err := localUsers(conf)
	if err != nil {
		return nil, fmt.Errorf("%w: auth.socket: %w", a2aserver.ErrConfig, err)
	}
	known, err := peer.New(users...)
	if err == nil && !peer.Supported() {
		err = peer.ErrUnsupported
	}
	if err != nil {
		return nil, fmt.Errorf("%w: auth.socket: %w", a2aserver.ErrConfig, err)
	}
	return known, nil
}

// localUsers returns the users in auth.socket.
func localUsers(conf *config.Config) ([]peer.User, error) {
	var users []peer.User
	for _, u := range conf.Auth.Socket {
		p, err := conf.Auth.People.Known(auth.Principal{Tenant: cmp.Or(u.Tenant, conf.Auth.Tenant), Subject: peer.Method + ":" + u.Subject, Person: u.Person})
		if err != nil {
			return nil, err
		}
		users = append(users, peer.User{
			UID: uint32(u.UID), Name: u.Subject, Person: p.Person, Tenant: p.Tenant, Roles: conf.Auth.RolesOr(u.Roles), Mark: peer.Setting,
		})
	}
	return users, nil
}
