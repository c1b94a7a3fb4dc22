package a2aserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"a2a-server/internal/adminsocket"
	"a2a-server/internal/keyring"
	"a2a-server/internal/privatefile"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task/planner/llm"
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
	c.complete()
	parts, err := c.Operator.Parts(&c, nil)
	if err == nil {
		warn(c.Log, parts.Warnings)
		if p, is := parts.Planner.(*llm.Planner); is {
			p.Close()
		}
		if _, err = c.card(true); err == nil {
			_, err = newPushes(c.Settings, nil)
		}
	}
	if err := c.unknown(err); err != nil {
		return err
	}
	if parts == nil {
		parts = &Parts{}
	}
	place := c.checkPlace(parts)
	warnings, err := c.Operator.Check()
	warn(c.Log, warnings)
	return errors.Join(err, place)
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

// checkPlace returns why New could not use the data folder, the admin socket or the addresses.
func (c *Config) checkPlace(p *Parts) error {
	if c.Store == nil {
		if err := privatefile.CheckCreates(c.Settings.Data); err != nil {
			return fmt.Errorf("%w: data: %w", ErrConfig, err)
		}
		if err := c.checkData(); err != nil {
			return err
		}
		if folder := c.keysFolder(); folder != "" {
			if err := keyring.Check(folder); err != nil {
				return fmt.Errorf("%w: %w", ErrConfig, err)
			}
		}
		if kind, path := c.Settings.StoreFile(); kind == "bolt" {
			if folder := filepath.Dir(path); folder != filepath.Clean(c.Settings.Data) { // New makes only the data folder
				_, err := os.Stat(folder)
				if err == nil {
					err = privatefile.CheckCreates(folder)
				}
				if err != nil {
					return fmt.Errorf("%w: store: %w", ErrConfig, err)
				}
			}
			if err := c.checkStore(p.Reach, path); err != nil {
				return err
			}
		}
	}
	if err := c.unknown(c.checkAdmin(p.Admin)); err != nil {
		return err
	}
	if c.NoListen {
		return nil
	}
	taken := map[string]*net.TCPAddr{}
	web, grpc, metrics := ports(c.Settings, p)
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
func (c *Config) checkStore(unreached Reach, path string) error {
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
func (c *Config) checkAdmin(admin *Socket) error {
	if admin == nil {
		return nil
	}
	err := admin.Check()
	if errors.Is(err, adminsocket.ErrListening) {
		c.notKnown("admin socket: " + admin.Path + " is in use, by this server or another")
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
