package storecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/cmd/a2a-server/internal/signals"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/terminal"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task/engine"
)

func backup(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "backup FILE", Short: "write a backup of the store to a new file, while the server runs or not",
		Long: `The backup is of one moment, and the server goes on meanwhile. The file ends in a checksum,
which is compared after it was written, and only its owner may read it. It has all tasks,
approvals and the audit; it has neither the folder keys/ nor the configuration and its secrets.

With - for FILE, the backup goes to the standard output. Whoever keeps it has to keep all of it:
'store restore' refuses a part.

A server that runs is asked at its admin socket, which needs the role admin; without auth.socket,
its own user may. The store of a server that does not run is read from its data folder.
`,
	}
	cli.Takes(c, ", a new file, or -", "the name of one file")
	of := storeFlags(c)
	socket := c.Flags().String("socket", "", "The admin socket of the server, a `file`. Defaults to the one in its configuration.")
	c.RunE = func(c *cobra.Command, args []string) error {
		conf, path, err := of.find(p)
		if err != nil {
			return err
		}
		if *socket != "" {
			conf.Admin.Socket = *socket
		}
		ctx, stop := signals.Interruptible(c.Context())
		defer stop()
		b := &making{p: p, socket: conf.AdminSocket(), own: conf.OwnSocket(), store: path, to: args[0]}
		do, report, where := b.make, p.Stdout, args[0]
		if where == "-" {
			if terminal.Is(p.Stdout) {
				return cli.Usage("store backup: the standard output is a terminal: send it to a file")
			}
			do, report, where = b.stream, p.Stderr, "standard output"
		}
		made, err := do(ctx)
		if err != nil {
			return err
		}
		b.confirm(ctx, made)
		if made.Damaged > 0 {
			p.Note(fmt.Sprintf("warning: %d values of the store are damaged, and of the backup too: their tasks cannot be read", made.Damaged))
		}
		_, err = fmt.Fprintf(report, "%s: everything until %s, %d values, %d bytes, checksum compared\nnot included: %s, the configuration and its secrets\n",
			where, made.Moment.Format(time.RFC3339Nano), made.Values, made.Bytes, filepath.Join(conf.Data, "keys"))
		return err
	}
	return c
}

// making is a backup that is being made.
type making struct {
	p      *cli.Program
	socket string         // of the server
	own    string         // socket of its own user
	store  string         // its file
	to     string         // the file of the backup
	server *remote.Server // that wrote it; nil: none runs
}

// make writes the backup beside its file, compares it, and gives it its name.
func (b *making) make(ctx context.Context) (made boltstore.Backup, err error) {
	if _, err := os.Lstat(b.to); !errors.Is(err, fs.ErrNotExist) {
		return made, cli.Usage("%s exists: name a new file", b.to)
	}
	draft, err := os.CreateTemp(filepath.Dir(b.to), "."+filepath.Base(b.to)+".*") // mode 0600
	if err != nil {
		return made, fmt.Errorf("create the file of the backup: %w", err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // unless it was renamed
	defer func() { _ = draft.Close() }()           // it is durable by then
	if err := b.write(ctx, draft); err != nil {
		return made, err
	}
	if err := draft.Sync(); err != nil {
		return made, fmt.Errorf("write the backup: %w", err)
	}
	if _, err := draft.Seek(0, io.SeekStart); err != nil {
		return made, err
	}
	if made, err = boltstore.VerifyBackup(draft); err != nil {
		return made, fmt.Errorf("compare the backup: %w", err)
	}
	err = os.Link(draft.Name(), b.to) // keeps a file that came meanwhile
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = os.Rename(draft.Name(), b.to) // this file system has no links
	}
	if err != nil {
		return made, fmt.Errorf("name the backup: %w", err)
	}
	return made, privatefile.SyncFolder(filepath.Dir(b.to))
}

// stream writes the backup to the standard output, and compares it on the way.
func (b *making) stream(ctx context.Context) (made boltstore.Backup, err error) {
	from, to := io.Pipe()
	compared := make(chan error, 1)
	go func() {
		var err error
		made, err = boltstore.VerifyBackup(from)
		_ = from.CloseWithError(err) // never fails; nil ends a write that would follow
		compared <- err
	}()
	err = b.write(ctx, io.MultiWriter(b.p.Stdout, to))
	_ = to.CloseWithError(err) // likewise; nil is the end
	if wrong := <-compared; err == nil && wrong != nil {
		err = fmt.Errorf("compare the backup: %w", wrong)
	}
	return made, err
}

// confirm tells the server that wrote a backup that it is whole.
func (b *making) confirm(ctx context.Context, made boltstore.Backup) {
	if b.server == nil {
		return
	}
	if _, err := b.server.OnSocket(ctx, http.MethodPost, debugapi.BackupPath+"/"+made.Moment.Format(time.RFC3339Nano)); err != nil {
		b.p.Note(fmt.Sprintf("warning: the backup is whole, but the server has not recorded its time, so its metric is older: %v", err))
	}
}

// write writes the backup, by the server or, if none runs, from its store.
func (b *making) write(ctx context.Context, to io.Writer) error {
	server := remote.OfSocket(b.socket, b.own)
	from, err := server.FromSocket(ctx, http.MethodGet, debugapi.BackupPath)
	switch {
	case err == nil:
		b.server = server
		defer func() { _ = from.Close() }() // it was only read
		if _, err := io.Copy(to, from); err != nil {
			return fmt.Errorf("read the backup from the server: %w", err)
		}
		return nil
	case !remote.Absent(err):
		return err
	}
	if _, err := os.Stat(b.store); err != nil {
		return fmt.Errorf("no server listens on %s, and there is no store: %w", b.socket, err)
	}
	_, err = boltstore.BackupPlain(ctx, b.store, to, false /* copied */)
	if errors.Is(err, boltstore.ErrInUse) {
		return fmt.Errorf("a server uses %s and does not listen on %s: run the command as the user of the server, or give it users with the role admin in auth.socket", b.store, b.socket)
	}
	return err
}

// Planned is [engine.Planned] for a backup or, for "", for the store of the server that listens on
// a socket or that of its own user, of which it makes a backup. It unpacks the backup into the folder for
// temporary files.
func Planned(ctx context.Context, socket, own, backup string, since time.Time, each func(*engine.PlannedCall)) (err error) {
	var from io.ReadCloser
	if backup != "" {
		from, err = os.Open(backup)
	} else {
		from, err = remote.OfSocket(socket, own).FromSocket(ctx, http.MethodGet, debugapi.BackupPath)
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it is only read
	folder, err := os.MkdirTemp("", "a2a-server-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	_, err = boltstore.Options{}.Restore(ctx, from, filepath.Join(folder, "tasks.db"), func(ctx context.Context, h store.Handle, _ boltstore.Backup) error {
		return engine.Planned(ctx, h, since, each)
	})
	return err
}
