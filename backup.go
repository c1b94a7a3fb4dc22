package a2aserver

import (
	"context"
	"io"
	"time"

	"a2a-server/store/boltstore"
)

// backup returns the function that writes a backup of the store; nil: it is not a file of ours.
func (b *backend) backup() func(ctx context.Context, to io.Writer) (boltstore.Backup, error) {
	if b.file == nil {
		return nil
	}
	return b.file.Backup
}

// backedUp records a backup that was verified.
func (b *backend) backedUp(ctx context.Context, moment time.Time) error {
	if b.file == nil {
		return nil
	}
	return b.file.BackedUp(ctx, moment)
}

// lastBackup returns the moment of the newest verified backup; zero: none is known.
func (b *backend) lastBackup() (at time.Time) {
	if b.file != nil {
		at = b.file.LastBackup()
	}
	return at
}
