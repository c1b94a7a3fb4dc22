package debugapi

import (
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// BackupPath is where a backup of the store is read (GET), and where its reader says that it is
// whole and durable (POST, and below it the moment of the backup in the form of [time.RFC3339Nano]).
const BackupPath = "/store/backup"

// noBackup answers for a server whose store is no file.
func noBackup(w http.ResponseWriter, _ *http.Request, _ auth.Principal) {
	http.Error(w, "the store is in memory, or belongs to the program that embeds the server, which has to back it up", http.StatusNotImplemented)
}

// backup answers with a backup of the store. It ends in a checksum, or says why it is not complete.
func (c *Config) backup(w http.ResponseWriter, r *http.Request, by auth.Principal) {
	w.Header().Set("Content-Type", "application/octet-stream")
	began := time.Now()
	b, err := c.Backup(r.Context(), bounded{w})
	if err != nil {
		c.Log.Error().Err(err).Str("by", by.Subject).Msg("a backup was not completed")
		return
	}
	level := zerolog.InfoLevel
	if b.Damaged > 0 {
		level = zerolog.ErrorLevel
	}
	c.Log.WithLevel(level).Time("moment", b.Moment).Uint64("values", b.Values).Uint64("damaged", b.Damaged).Int64("bytes", b.Bytes).
		Dur("took_ms", time.Since(began)).Dur("longest_read_ms", b.Longest).Str("by", by.Subject).Msg("a backup of the store was made")
}

// backedUp takes note of a backup that its reader has verified.
func (c *Config) backedUp(w http.ResponseWriter, r *http.Request, _ auth.Principal) {
	moment, err := time.Parse(time.RFC3339Nano, r.PathValue("moment"))
	if err != nil {
		http.Error(w, "the moment is not a time in the form of RFC 3339", http.StatusBadRequest)
		return
	}
	if err := c.BackedUp(r.Context(), moment); err != nil {
		http.Error(w, "the time of the backup was not recorded: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// bounded is an answer whose client has to read each part in time.
type bounded struct{ http.ResponseWriter }

func (b bounded) Write(p []byte) (int, error) {
	httpd.Bound(b.ResponseWriter)
	return b.ResponseWriter.Write(p)
}
