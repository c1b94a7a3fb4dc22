package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"a2a-server/internal/privatefile"
)

// ledger is a file with a line of JSON for each run of a tool, which shows how often the tool
// ran. It is safe for concurrent use, even by several processes: each line is a single write
// to a file opened for appending.
type ledger struct {
	path string
	now  func() time.Time
}

// entry is a line.
type entry struct {
	Time time.Time    `json:"time"`
	Task string       `json:"task"`
	Call string       `json:"call"`
	Args transferArgs `json:"args"`
}

// add appends a line. If add returns nil, the line is on disk; if it returns an error, it
// may or may not be.
func (l *ledger) add(task, call string, args transferArgs) error {
	text, err := json.Marshal(entry{Time: l.now().UTC().Truncate(time.Millisecond), Task: task, Call: call, Args: args})
	if err != nil {
		return fmt.Errorf("write to the ledger: %w", err)
	}
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the ledger: %w: check that its folder exists and can be written to", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = privatefile.SyncFolder(filepath.Dir(l.path)) // another run may have just created the file
	}
	if err != nil {
		return fmt.Errorf("write to the ledger: the line may or may not be on disk: %w", err)
	}
	return nil
}
