package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"a2a-server/store/boltstore/internal/boltfile"
)

// The file beside a store that says which instance used it last: the incarnation of the store and
// its newest epoch, 8 bytes each. If the store has an older epoch, an earlier copy was written over
// it, which nothing in the store tells.
func epochFile(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".epoch")
}

// noteEpoch records the epoch of a new instance, which is durable in the store. A loss of the record
// loses the check.
func noteEpoch(path string, incarnation, epoch uint64) error {
	text := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, incarnation), epoch)
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".epoch-*")
	if err != nil {
		return err
	}
	_, err = draft.Write(text)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), epochFile(path))
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return nil
}

// checkEpoch returns an error if an instance has used a newer version of the store.
func checkEpoch(file *boltfile.File, incarnation, epoch uint64) error {
	text, err := os.ReadFile(epochFile(file.Path()))
	if err != nil || len(text) != 16 || binary.BigEndian.Uint64(text) != incarnation {
		return nil //nolint:nilerr // nothing is known
	}
	if newest := binary.BigEndian.Uint64(text[8:]); newest > epoch {
		return copyError(file.Path(), fmt.Sprintf("is an earlier version of the store: it was started %d times since", newest-epoch))
	}
	return nil
}

// copyError refuses a file in which it is not known what has run since.
func copyError(path, is string) error {
	return fmt.Errorf("%s %s. Calls that it takes for undecided may have run since: make a store of it in another data folder, which asks again about all of them: a2a-server store restore --unverified %s --data FOLDER", path, is, path)
}
