package notify_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// damaged runs before on a file, damages the header of the task of the approval that it returns,
// and runs after on the same file.
func damaged(t *testing.T, before func(w *world) (approval string), after func(w *world, approval string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	synctest.Test(t, func(t *testing.T) {
		var db *boltstore.DB
		w := &world{t: t, open: func() (store.Handle, error) {
			var err error
			if db, err = boltstore.Open(path); err != nil {
				return nil, err
			}
			return db.Handle()
		}}
		bad := before(w)
		w.stop()
		must(0, db.Close())
		id, ok := store.ParseTaskID(bad[:len(bad)-len(".a1")])
		if !ok {
			t.Fatalf("approval %q has no task", bad)
		}
		file := must(bolt.Open(path, 0o600, nil))
		must(0, file.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("task"))
			return b.ForEach(func(key, value []byte) error {
				if !bytes.Contains(key, id[:]) {
					return nil
				}
				value = bytes.Clone(value)
				value[len(value)-1]++
				return b.Put(key, value)
			})
		}))
		must(0, file.Close())
		after(w, bad)
		w.stop()
		must(0, db.Close())
	})
}

func TestDamagedTaskHoldsNothingUp(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	var good string
	damaged(t, func(w *world) string {
		w.startEngine(asked("ops", r)) // without the pump: the messages wait
		bad := w.ask("pay")
		w.pass(time.Second)
		good = w.ask("mail")
		w.pass(time.Second)
		return bad
	}, func(w *world, bad string) {
		w.startEngine(asked("ops", r))
		w.startPump()
		w.pass(10 * time.Minute)
		sent := map[string]int{}
		for _, m := range r.messages() {
			sent[m.Approval]++
		}
		if sent[bad] > 1 || sent[good] != 1 {
			t.Errorf("the message of the damaged task was sent %d times, that of the sound one %d times; want at most 1, and 1", sent[bad], sent[good])
		}
	})
}

func TestDamagedTaskOfARouteThatIsGone(t *testing.T) {
	t.Parallel()
	damaged(t, func(w *world) string {
		w.startEngine(asked("gone", &receiver{}))
		bad := w.ask("pay")
		w.pass(time.Second)
		for range 5 {
			w.ask("mail")
			w.pass(time.Second)
		}
		return bad
	}, func(w *world, _ string) {
		w.startEngine()
		w.startPump()
		w.pass(10 * time.Hour)
		if left := len(w.rows()); left != 1 {
			t.Errorf("%d rows of the route are left, want only that of the damaged task", left)
		}
	})
}

// The digest is of the whole arguments: whoever has it can try which they are.
func TestDigestIsOnlyWithTheArguments(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		without, masked := &receiver{}, &receiver{}
		all := asked("all", masked)
		all.Arguments = true
		w.start(asked("ops", without), all)
		w.ask("pay")
		w.pass(time.Minute)
		for what, r := range map[string]*receiver{"without arguments": without, "with masked ones": masked} {
			if got := r.messages(); len(got) != 1 || got[0].Digest != "" {
				t.Errorf("messages %s: %+v, want one without a digest", what, got)
			}
		}
	})
}
