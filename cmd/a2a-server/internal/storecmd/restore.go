package storecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/signals"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task/engine"
)

func restore(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "restore FILE", Short: "make the store of a data folder from a backup",
		Long: `The folder must not have a store; its keys/ are kept. What happened after the backup is not in
it, so the server does not trust what was pending then: it asks again about every call that was
approved or waited, takes calls that ran for calls with an unknown outcome, and neither plans,
wakes nor sends webhooks until 'a2a-server store resume'.

With --unverified FILE is a plain copy of tasks.db. All of it is read, but nothing proves that
it is of one moment. With - for FILE, the backup is read from the standard input.
`,
	}
	cli.Takes(c, ", a backup, or -", "the name of one file")
	of := storeFlags(c)
	unverified := c.Flags().Bool("unverified", false, "FILE is a plain copy of tasks.db, without a checksum.")
	c.RunE = func(c *cobra.Command, args []string) error {
		conf, path, err := of.find(p)
		if err != nil {
			return err
		}
		ctx, stop := signals.Interruptible(c.Context())
		defer stop()
		if args[0] == "-" && *unverified {
			return cli.Usage("store restore: a plain copy has to be a file: name it")
		}
		made, err := restoreTo(ctx, path, args[0], p.Stdin, *unverified)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s has a store: stop its server and move %s away, or name another folder with --data", conf.Data, path)
		case errors.Is(err, boltstore.ErrNotBackup):
			return fmt.Errorf("%s is no backup of this program, so nothing says that it is whole: make one with 'a2a-server store backup'. If it is a plain copy of tasks.db, --unverified takes it", args[0])
		case errors.Is(err, store.ErrDamaged):
			text := err.Error()
			if damage, is := errors.AsType[*boltstore.DamageError](err); is { // its next step is that of a store in use
				text = damage.Damage()
			}
			return fmt.Errorf("restore %s: %s: restore a backup, without --unverified, or another copy", args[0], text)
		case err != nil:
			return fmt.Errorf("restore %s: %w", args[0], err)
		}
		if keys := conf.KeysFolder(); keys != "" {
			if _, err := os.Stat(keys); errors.Is(err, fs.ErrNotExist) {
				p.Note(fmt.Sprintf("there is no folder %s: restore it too, or webhooks lose their secrets, and tokens their signatures", keys))
			}
		}
		return p.Printf("%s: everything until %s, %d values\nStart the server, decide what it asks ('%s'), then run '%s'\n", path, made.Moment.Format(time.RFC3339Nano), made.Values, cli.Again(c, "approvals", "list"), cli.Again(c, "store", "resume"))
	}
	return c
}

// restoreTo makes the store at path from a backup or a plain copy. The file - is input.
func restoreTo(ctx context.Context, path, file string, input io.Reader, plain bool) (boltstore.Backup, error) {
	if info, err := os.Stat(file); file != "-" && err != nil {
		return boltstore.Backup{}, err
	} else if file != "-" && !info.Mode().IsRegular() {
		return boltstore.Backup{}, errors.New("it is not a regular file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return boltstore.Backup{}, err
	}
	begin := func(ctx context.Context, h store.Handle, b boltstore.Backup) error {
		return engine.MarkRestored(ctx, h, b.Moment, time.Now())
	}
	if !plain {
		if file != "-" {
			from, err := os.Open(file)
			if err != nil {
				return boltstore.Backup{}, err
			}
			defer func() { _ = from.Close() }() // it is only read
			input = from
		}
		return boltstore.Options{}.Restore(ctx, input, path, begin)
	}
	from, to := io.Pipe()
	read := make(chan error, 1)
	go func() {
		_, err := boltstore.BackupPlain(ctx, file, to, true /* copied */)
		read <- err
		_ = to.CloseWithError(err) // never fails
	}()
	b, err := boltstore.Options{}.Restore(ctx, from, path, begin)
	_ = from.CloseWithError(err) // ends the other side
	if why := <-read; why != nil && !errors.Is(why, err) {
		err = why // which the stream only retells
	}
	return b, err
}
