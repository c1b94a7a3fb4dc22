package a2aserver

import (
	"context"
	"io"
	"time"

	"a2a-server/internal/metrics"
	"a2a-server/store/boltstore"
)

// backup returns the function that writes a backup of the store; nil: it is not a file of ours.
func (b *backend) backup() func(ctx context.Context, to io.Writer) (boltstore.Backup, error) {
	if b.file == nil {
		return nil
	}
	return b.file.Backup
}

// backedUp returns the function that records a backup that was verified.
func (b *backend) backedUp(measured *metrics.Metrics) func(context.Context, time.Time) error {
	return func(ctx context.Context, moment time.Time) error {
		if b.file == nil {
			return nil
		}
		measured.BackedUp(moment)
		return b.file.BackedUp(ctx, moment)
	}
}

// knowBackup tells the metrics of the newest backup.
func (b *backend) knowBackup(measured *metrics.Metrics) {
	if b.file == nil {
		return
	}
	if at := b.file.LastBackup(); !at.IsZero() {
		measured.BackedUp(at)
	}
}
