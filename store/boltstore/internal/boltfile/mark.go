package boltfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Mark is left beside a store by a process in which a transaction has failed. The next process
// checks the file before it uses it.
type Mark struct {
	Incarnation uint64    `json:"incarnation"`     // of the store
	Time        time.Time `json:"time"`            // of the failure
	Panic       string    `json:"panic"`           // its text and stack
	Backup      time.Time `json:"backup,omitzero"` // moment of the newest backup that was verified
}

// Beside returns the path of a file beside the store at path, or beside the file that a symbolic link
// at path points to.
func Beside(path, extension string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+extension)
}

func markPath(path string) string { return Beside(path, ".failed") }

// leave writes the mark. It is durable when leave returns.
func (m Mark) leave(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(markPath(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close(), syncFolders(markPath(path)))
}

// isMarked reports whether there is a mark, which may be empty: the disk may have been full.
func isMarked(path string) bool {
	_, err := os.Stat(markPath(path))
	return err == nil
}

// ReadMark returns the mark beside the store at path; marked is false if there is none. A mark
// that cannot be read is a mark, too.
func ReadMark(path string) (m Mark, marked bool) {
	text, err := os.ReadFile(markPath(path))
	if errors.Is(err, os.ErrNotExist) {
		return m, false
	}
	if err := json.Unmarshal(text, &m); err != nil {
		m.Panic = "it was not recorded"
	}
	return m, true
}

// RemoveMark removes the mark beside the store at path, durably.
func RemoveMark(path string) error {
	if err := os.Remove(markPath(path)); err != nil {
		return fmt.Errorf("the store has been checked, and the mark of its failure cannot be removed: %w: remove %s yourself, then start the server again", err, markPath(path))
	}
	return syncFolders(markPath(path))
}

// Refuse returns the *[DamageError] of the file at path, which has a mark.
func (m Mark) Refuse(path string, why any) error { return damagedFile(path, why, m.Backup) }
