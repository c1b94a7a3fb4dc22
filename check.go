package a2aserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"a2a-server/internal/adminsocket"
	"a2a-server/internal/app/config"
	"a2a-server/internal/keyring"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/tlsfiles"
	"a2a-server/internal/toolset"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task"
	"a2a-server/task/notify"
)

// Check returns the error that New would return for this Config, if this process called it, as
// far as that is known without starting, opening for writing or changing anything. The error lists
// all problems with keys; warnings go to the log. A command or an MCP server that cannot be
// started, because its program or its folder is missing, is an error here; New starts without it
// and warns.
//
// The log also names what is not known here: a file or folder below /run that does not exist while
// systemd runs, which may make it for a unit, and an address or a store that is in use, maybe by
// this server.
func Check(c Config) error {
	conf, err := config.Load(c.source())
	if err != nil {
		return err
	}
	c.defaultLog(conf)
	var tools toolset.Current
	p, err := c.parts(conf, nil, &tools)
	if err := c.unknown(err); err != nil {
		return err
	}
	closePlanner(p.planner)
	roles := c.checkRoles(conf, p.apiKeys)
	if err := c.checkPlace(conf, &p); err != nil {
		return errors.Join(roles, err)
	}
	warnings, err := toolset.Check(c.tools(conf, nil, ""))
	warn(c.Log, warnings)
	return errors.Join(roles, err)
}

// unknown returns an error, unless it is about what only a unit has. That goes to the log.
func (c *Config) unknown(err error) error {
	missing, is := errors.AsType[*fs.PathError](err)
	_, booted := os.Stat("/run/systemd/system")
	if !is || booted != nil || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(missing.Path, "/run/") {
		return err
	}
	c.notKnown(fmt.Sprintf("%v: a unit may have it when it runs", err))
	return nil
}

func (c *Config) notKnown(text string) {
	if c.Inside.NotKnown != nil {
		c.Inside.NotKnown()
	}
	c.Log.Warn().Msg("not known here: " + text)
}

// parts are what New makes of a configuration before it opens or writes anything.
type parts struct {
	authentication
	files   *tlsfiles.Files // nil: no TLS
	push    *pushes         // nil: no push notifications
	routes  []notify.Route
	planner task.Planner
}

// parts makes the parts of a configuration. own returns the addresses on which the server listens.
func (c *Config) parts(conf *config.Config, own func() []netip.AddrPort, tools *toolset.Current) (p parts, err error) {
	if p.files, err = c.tlsFiles(conf); err != nil {
		return p, err
	}
	if p.authentication, err = c.authentication(conf, p.files, own); err != nil {
		return p, err
	}
	if _, err = c.card(conf); err != nil {
		return p, err
	}
	if p.push, err = c.pushes(conf, own); err != nil {
		return p, err
	}
	var unread []string
	if p.routes, unread, err = c.routes(conf, own); err != nil {
		return p, err
	}
	warn(c.Log, unread)
	p.planner, err = c.planner(conf, tools, own)
	return p, err
}

// checkPlace returns why New could not use the data folder, the admin socket or the addresses.
func (c *Config) checkPlace(conf *config.Config, p *parts) error {
	if c.Store == nil {
		if err := privatefile.CheckCreates(conf.Data); err != nil {
			return fmt.Errorf("%w: data: %w", ErrConfig, err)
		}
		if err := c.checkData(conf); err != nil {
			return err
		}
		if folder := c.keysFolder(conf); folder != "" {
			if err := keyring.Check(folder); err != nil {
				return fmt.Errorf("%w: %w", ErrConfig, err)
			}
		}
		if kind, path := conf.StoreFile(); kind == "bolt" {
			if folder := filepath.Dir(path); folder != filepath.Clean(conf.Data) { // New makes only the data folder
				_, err := os.Stat(folder)
				if err == nil {
					err = privatefile.CheckCreates(folder)
				}
				if err != nil {
					return fmt.Errorf("%w: store: %w", ErrConfig, err)
				}
			}
			if err := c.checkStore(conf, p, path); err != nil {
				return err
			}
		}
	}
	if err := c.unknown(c.checkAdmin(conf)); err != nil {
		return err
	}
	if c.NoListen {
		return nil
	}
	taken := map[string]*net.TCPAddr{}
	web, grpc, metrics := ports(conf, p.authenticator != nil)
	for _, k := range []portKey{web, grpc, metrics} {
		if k.at == "" {
			continue
		}
		address, err := net.ResolveTCPAddr("tcp", k.at)
		if err == nil {
			err = listens(k.at)
		}
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			c.notKnown(k.key + ": " + k.at + " is in use, by this server or another program")
		case err != nil:
			return fmt.Errorf("%w: %w", ErrConfig, k.failed(err))
		}
		for other, with := range taken {
			if overlap(address, with) {
				return fmt.Errorf("%w: %s: %s has the port of %s: choose another port", ErrConfig, k.key, k.at, other)
			}
		}
		taken[k.key] = address
		if err := k.refusal(address); err != nil {
			return err
		}
	}
	return nil
}

// checkStore returns why New could not use the file of the store, and logs which of its tasks no caller may see.
func (c *Config) checkStore(conf *config.Config, p *parts, path string) error {
	unreached := c.unreached(conf, p.apiKeys)
	each := func(h *store.Header) {
		if unreached != nil {
			unreached.Add(h)
		}
	}
	switch err := boltstore.Check(path, each); {
	case errors.Is(err, boltstore.ErrInUse):
		c.notKnown(path + " is in use, by this server or another program, whose log says at its start which tasks are out of reach")
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if unreached != nil {
		warn(c.Log, unreached.Warnings())
	}
	return nil
}

// overlap reports whether there can be only one listener on two addresses.
func overlap(a, b *net.TCPAddr) bool {
	covers := func(a, b *net.TCPAddr) bool {
		return len(a.IP) == 0 || a.IP.IsUnspecified() && (a.IP.To4() == nil || b.IP.To4() != nil)
	}
	return a.Port == b.Port && a.Port != 0 && (a.IP.Equal(b.IP) || covers(a, b) || covers(b, a))
}

// checkAdmin returns why New could not make the admin socket.
func (c *Config) checkAdmin(conf *config.Config) error {
	path, _, door, err := c.adminDoor(conf, adminsocket.OwnerFor(conf))
	if err == nil && path != "" {
		err = adminsocket.Check(path, door.Group())
	}
	if errors.Is(err, adminsocket.ErrListening) {
		c.notKnown("admin socket: " + path + " is in use, by this server or another")
		return nil
	}
	return err
}

// listens returns why a listener could not have an address.
func listens(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	return l.Close()
}
