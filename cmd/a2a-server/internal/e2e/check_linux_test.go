package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/internal/testserver"
)

// Check refuses what New refuses about folders, files, sockets and addresses, and changes nothing.
func TestCheckTriesTheStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(c *testserver.Config, data string) error
		want  string
	}{
		"nothing": {func(*testserver.Config, string) error { return nil }, ""},
		"a first start": {func(c *testserver.Config, data string) error {
			c.Set["data"] = filepath.Join(data, "new", "folder")
			return nil
		}, ""},
		"a socket in no folder": {func(c *testserver.Config, data string) error {
			c.Set["admin.socket"] = filepath.Join(data, "none", "s")
			return nil
		}, "the folder of admin.socket"},
		"a socket that others replace": {func(c *testserver.Config, data string) error {
			c.Set["admin.socket"] = filepath.Join(data, "open", "s")
			if err := os.Mkdir(filepath.Join(data, "open"), 0o700); err != nil {
				return err
			}
			return os.Chmod(filepath.Join(data, "open"), 0o777)
		}, "every user of this machine may write it"},
		"a file for a socket": {func(_ *testserver.Config, data string) error {
			return os.WriteFile(filepath.Join(data, "admin.sock"), nil, 0o600)
		}, "is not a socket"},
		"data that others write": {func(_ *testserver.Config, data string) error { return os.Chmod(data, 0o777) }, "every user of this machine may write it"},
		"data in a file": {func(c *testserver.Config, data string) error {
			c.Set["data"] = filepath.Join(data, "tasks.db", "data")
			return nil
		}, "not a directory"},
		"a lost store": {func(_ *testserver.Config, data string) error { return os.Remove(filepath.Join(data, "tasks.db")) }, "is missing"},
		"a cut store": {func(_ *testserver.Config, data string) error {
			return os.Truncate(filepath.Join(data, "tasks.db"), 5000)
		}, "tasks.db"},
		"a copied store": {func(_ *testserver.Config, data string) error {
			path := filepath.Join(data, "tasks.db")
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".new", text, 0o600)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			return err
		}, "is a copy of another file"},
		"keys that others read": {func(_ *testserver.Config, data string) error { return os.Chmod(filepath.Join(data, "keys"), 0o705) }, "has the mode 0705"},
		"damaged keys": {func(_ *testserver.Config, data string) error {
			return os.WriteFile(filepath.Join(data, "keys", "agent-card.json"), []byte("{}"), 0o600)
		}, "is damaged"},
		"an address of others":            {func(c *testserver.Config, _ string) error { c.Set["listen"] = "192.0.2.1:0"; return nil }, "cannot assign"},
		"gRPC on an address of others":    {func(c *testserver.Config, _ string) error { c.Set["grpc.listen"] = "192.0.2.1:0"; return nil }, "cannot assign"},
		"metrics on an address of others": {func(c *testserver.Config, _ string) error { c.Set["admin.listen"] = "[2001:db8::1]:0"; return nil }, "2001:db8::1"},
		"a port twice": {func(c *testserver.Config, _ string) error {
			return twice(c, "127.0.0.1", "localhost")
		}, "admin.listen"},
		"a port of all addresses": {func(c *testserver.Config, _ string) error {
			return twice(c, "0.0.0.0", "127.0.0.1")
		}, "admin.listen"},
		"a store in no folder": {func(c *testserver.Config, data string) error {
			c.Set["data"], c.Set["store"] = filepath.Join(data, "new"), "bolt:"+filepath.Join(data, "none", "tasks.db")
			return nil
		}, "no such file"},
		"a store in a file": {func(c *testserver.Config, data string) error {
			c.Set["data"], c.Set["store"] = filepath.Join(data, "new"), "bolt:"+filepath.Join(data, "tasks.db", "tasks.db")
			return nil
		}, "not a "},
		"data behind a link to nothing": {func(c *testserver.Config, data string) error {
			c.Set["data"] = filepath.Join(data, "link")
			return os.Symlink(filepath.Join(data, "nothing"), c.Set["data"])
		}, "data"},
		"an address of IPv6": {func(c *testserver.Config, _ string) error { c.Set["listen"] = "[::1]:0"; return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSocket(t, me("approver"))
			opens := func() error {
				s, err := testserver.New(c)
				if err != nil {
					return err
				}
				return s.Close()
			}
			data := c.Set["data"]
			if err := opens(); err != nil {
				t.Fatal(err)
			}
			if err := tc.spoil(&c, data); err != nil {
				t.Fatal(err)
			}
			before := tree(t, data)
			err := testserver.Check(c)
			if after := tree(t, data); after != before {
				t.Errorf("Check has changed the folder from\n%s\nto\n%s", before, after)
			}
			for what, err := range map[string]error{"Check": err, "New": opens()} {
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s = %v, want %q", what, err, tc.want)
				}
			}
		})
	}
}

// twice sets two addresses with the same free port.
func twice(c *testserver.Config, public, metrics string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	c.Set["listen"], c.Set["admin.listen"], c.Set["insecure_no_auth"] = public+":"+port, metrics+":"+port, "true"
	return errors.Join(err, l.Close())
}

// Beside a running server, Check says what it does not know.
func TestCheckBesideTheServer(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("approver"))
	in := start(t, c)
	c.Set["listen"] = in.server.Addr().String()
	unknown := 0
	c.Inside.NotKnown = func() { unknown++ }
	if err := testserver.Check(c); err != nil || unknown != 3 {
		t.Errorf("Check() = %v with %d unknown, want store, socket and address", err, unknown)
	}
}

// tree returns the files below a folder, with their modes, sizes and times.
func tree(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
