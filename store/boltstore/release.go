package boltstore

import (
	"errors"
	"fmt"
	"os"
)

// Release marks the store at path, which no process has open, to be moved: [Options.Open] refuses it
// from then on, and accepts a copy of it, in which it removes the mark. It is durable when Release
// returns. A second copy of the released file is accepted, too, if it is opened elsewhere.
func Release(path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	db, err := Options{Ahead: -1}.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.writer.Release()
}

// releasedError refuses a released file where it was released.
func releasedError(path string) error {
	return fmt.Errorf("%s was released to be moved (a2a-server store release), so only a copy of it starts. If no copy was started, make a store of it in another data folder, which asks again about all that is undecided: a2a-server store restore --unverified %s --data FOLDER", path, path)
}
