//go:build linux

package boltstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// powerEnv, when set, makes this test binary the process whose writes are watched.
// Its value is a folder.
const powerEnv = "BOLTSTORE_POWER_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(powerEnv); dir != "" {
		if err := powerChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	if name := os.Getenv(fullEnv); name != "" {
		if err := fullChild(name, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// powerAck is an append that was answered, as a line of the file of answers. It is
// written by one write after the answer.
type powerAck struct {
	Task  string
	Last  uint64 // seq
	Rev   uint64
	Row   uint64 `json:",omitempty"` // rev of the task's row
	Going bool   `json:",omitempty"` // is being deleted
	Gone  bool   `json:",omitempty"` // deleted
}

// pattern is the data of event n of a task, so that whoever reads it can tell
// whether it is whole.
func pattern(id store.TaskID, n uint64, size int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", id, n))
	return append(b, bytes.Repeat(sum[:], size/len(sum)+1)[:size]...)
}

// powerClient is a client of the store that writes down what it was told.
type powerClient struct {
	h    store.Handle
	acks *os.File
	id   store.TaskID
	ack  powerAck
}

// append appends events of the given sizes, and says so when it was answered.
func (c *powerClient) append(b *store.Batch, sizes ...int) error {
	b.Task, b.Scope = c.id, store.Owner("t", "power")
	for i, size := range sizes {
		b.Events = append(b.Events, store.Event{Public: i%2 == 0, Kind: "k", Data: pattern(c.id, c.ack.Last+uint64(i)+1, size)})
	}
	r, err := c.h.Append(context.Background(), b).Wait()
	if err != nil {
		return err
	}
	c.ack.Last = r.Last
	if r.Rev > 0 {
		c.ack.Rev = r.Rev
	}
	for _, row := range b.Rows {
		c.ack.Row = row.IfRev + 1
	}
	return c.say()
}

func (c *powerClient) say() error {
	data, err := json.Marshal(c.ack)
	if err != nil {
		return err
	}
	_, err = c.acks.Write(append(data, '\n'))
	return err
}

func (c *powerClient) rev() *uint64 { return new(c.ack.Rev) }

// live plays the life of one task.
func (c *powerClient) live(big int) error {
	c.id = store.NewTaskID()
	c.ack = powerAck{Task: c.id.String()}
	status := func(state store.State) *store.Status {
		return &store.Status{State: state, Time: store.MillisOf(time.Now())}
	}
	row := func(ifRev uint64) []store.RowChange {
		return []store.RowChange{{Kind: "approval", Key: []byte("row"), IfRev: ifRev, Value: make([]byte, 300), Index: []store.IndexKey{{Index: "state", Key: []byte{byte(ifRev)}}}}}
	}
	due := store.DueChange{Time: 1, Kind: "wake", Key: []byte("due")}
	gone := due
	gone.Delete = true
	fence := new(uint64(1))
	if err := errors.Join(
		c.append(&store.Batch{Rev: new(uint64(0)), Change: store.Change{Context: "c", Status: status(1), Phase: store.Live}}, 200, 300),
		c.append(&store.Batch{Rev: c.rev(), Fence: fence, Rows: row(0), Due: []store.DueChange{due}, Audit: [][]byte{[]byte("asked")}}, 100),
		c.append(&store.Batch{Fence: fence}, big, 50, 50),
	); err != nil {
		return err
	}
	return errors.Join(
		c.append(&store.Batch{Fence: fence, Snapshot: &store.Snapshot{After: c.ack.Last, Rev: c.ack.Rev, Bytes: make([]byte, 5000)}}, 1000),
		c.append(&store.Batch{Rows: row(1), Due: []store.DueChange{gone}}), // asides
		c.append(&store.Batch{Rows: row(2), Due: []store.DueChange{due}, Audit: [][]byte{[]byte("aside")}}),
		c.append(&store.Batch{Rev: c.rev(), Rows: row(3), Due: []store.DueChange{gone}, Audit: [][]byte{[]byte("resolved")}}, 100),
		c.append(&store.Batch{Rev: c.rev(), Fence: fence, Change: store.Change{Status: status(3), Phase: store.Final}}, 400, 100),
		c.append(&store.Batch{Rows: row(4)}),
	)
}

// powerChild writes some tasks, alone and at the same time, and deletes one.
func powerChild(dir string) error {
	acks := must(os.OpenFile(filepath.Join(dir, "acks"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))
	db, h := handled(boltstore.Open(filepath.Join(dir, "store.db")))
	var first *powerClient
	for _, big := range []int{10, 5000, 70_000, 1_500_000} { // one page, some, many, more than is cleared at once
		c := &powerClient{h: h, acks: acks}
		need(c.live(big))
		if first == nil {
			first = c
		}
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = (&powerClient{h: h, acks: acks}).live(3000 * i) })
	}
	wg.Wait()
	need(errors.Join(errs...))
	first.ack.Going = true
	need(errors.Join(first.say(), h.Delete(context.Background(), store.System(), first.id, nil)))
	first.ack.Gone = true
	return errors.Join(first.say(), (&powerClient{h: h, acks: acks}).live(20_000), db.Close())
}

// recordsFile is the name of the file that records the newest commit of the child's store.
const recordsFile = ".store.db.epoch"

// powerOp is a system call of the child on one of its files.
type powerOp struct {
	name       string
	file       string // base name
	draft      bool   // the store, before it has its name
	data       []byte // pwrite64, write
	at         int64  // pwrite64: offset; ftruncate: size; fallocate: end
	begin, end int    // place in the order of all that happened
}

// byPage returns a write as one for each page.
func (o *powerOp) byPage() (pages []*powerOp) {
	if len(o.data) == 0 {
		return []*powerOp{o}
	}
	at := o.at
	for data := range slices.Chunk(o.data, pageSize) {
		page := *o
		page.at, page.data = at, data
		pages = append(pages, &page)
		at += int64(len(data))
	}
	return pages
}

func (o *powerOp) syncs() bool { return o.name == "fdatasync" || o.name == "fsync" }

// watchWrites runs the child under strace and returns what it did to its files, in
// order.
// The writes name the file at path as the one that they are in.
func watchWrites(t *testing.T, path string) []*powerOp {
	t.Helper()
	self := must(os.Executable())
	dir := t.TempDir()
	log := filepath.Join(dir, "strace")
	if out, err := exec.Command("strace", "-f", "-o", log, "-e", "trace=write", "true").CombinedOutput(); err != nil {
		t.Logf("strace true: %v\n%s", err, out)
		t.Skip("strace does not run here")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", "-f", "-y", "-xx", "-s", "100000000",
		"-e", "trace=pwrite64,pwritev,pwritev2,write,writev,fdatasync,fsync,ftruncate,fallocate,msync", "-e", "signal=none", "-o", log, self)
	cmd.Env = append(os.Environ(), powerEnv+"="+dir, "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	data := must(os.ReadFile(log))
	ops := must(parseStrace(string(data), dir))
	need(os.WriteFile(path, nil, 0o600))
	was, is := identity(filepath.Join(dir, "store.db")), identity(path)
	for _, o := range ops {
		o.data = bytes.ReplaceAll(o.data, was, is)
	}
	return ops
}

// parseStrace reads lines such as
//
//	17 pwrite64(5<\x2f\x61>, "\x00\x01", 2, 4096) = 2
//	17 fdatasync(5<\x2f\x61> <unfinished ...>
//	17 <... fdatasync resumed>) = 0
func parseStrace(log, dir string) ([]*powerOp, error) {
	var ops []*powerOp
	open := map[string]*powerOp{} // by thread
	n := 0
	for text := range strings.Lines(log) {
		n++
		text = strings.TrimSuffix(text, "\n")
		thread, call, _ := strings.Cut(text, " ")
		call = strings.TrimLeft(call, " ")
		if strings.HasPrefix(call, "<... ") {
			if o := open[thread]; o != nil {
				delete(open, thread)
				o.end = n
				if err := o.result(call); err != nil {
					return nil, fmt.Errorf("line %d: %w", n, err)
				}
			}
			continue
		}
		name, rest, ok := strings.Cut(call, "(")
		if !ok || strings.HasPrefix(call, "+++") {
			continue
		}
		_, rest, ok = strings.Cut(rest, "<")
		path, rest, ok2 := strings.Cut(rest, ">")
		if !ok || !ok2 {
			continue // no file
		}
		where, err := unhex(path)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		file := filepath.Base(string(where))
		draft := strings.HasPrefix(file, ".store.db.new-") // gets its name when it is whole
		if filepath.Dir(string(where)) != dir || file != "store.db" && file != "acks" && file != recordsFile && !draft {
			continue
		}
		o := &powerOp{name: name, file: file, draft: draft, begin: n, end: n}
		if err := o.arguments(rest); err != nil {
			return nil, fmt.Errorf("line %d: %s %.100s: %w", n, name, rest, err)
		}
		ops = append(ops, o)
		if strings.HasSuffix(text, "<unfinished ...>") {
			o.end = 0
			open[thread] = o
		} else if err := o.result(rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%d system calls never ended", len(open))
	}
	return ops, nil
}

// arguments reads what follows the file.
func (o *powerOp) arguments(rest string) error {
	var size int64
	switch o.name {
	case "fdatasync", "fsync":
		return nil
	case "ftruncate":
		_, err := fmt.Sscanf(rest, ", %d", &o.at)
		return err
	case "fallocate":
		var from, length int64
		_, err := fmt.Sscanf(rest, ", 0, %d, %d", &from, &length)
		o.at = from + length
		return err
	case "pwrite64", "write":
	default:
		return errors.New("this suite does not know what it does to a file")
	}
	text, ok := strings.CutPrefix(rest, `, "`)
	text, rest, ok2 := strings.Cut(text, `"`)
	if !ok || !ok2 {
		return errors.New("no data")
	}
	var err error
	if o.data, err = unhex(text); err != nil {
		return err
	}
	if o.name == "pwrite64" {
		_, err = fmt.Sscanf(rest, ", %d, %d", &size, &o.at)
	} else {
		_, err = fmt.Sscanf(rest, ", %d", &size)
	}
	if err == nil && size != int64(len(o.data)) {
		err = fmt.Errorf("%d bytes of %d", len(o.data), size)
	}
	return err
}

// result checks that a call has done all that it was to do.
func (o *powerOp) result(text string) error {
	got := int64(-1)
	if i := strings.LastIndex(text, "= "); i >= 0 {
		if _, err := fmt.Sscanf(text[i:], "= %d", &got); err != nil {
			return err
		}
	}
	if got != int64(len(o.data)) {
		return fmt.Errorf("%s = %d, want %d", o.name, got, len(o.data))
	}
	return nil
}

func unhex(s string) ([]byte, error) {
	b := make([]byte, 0, len(s)/4)
	for i := 0; i < len(s); i += 4 {
		if len(s) < i+4 || s[i:i+2] != `\x` {
			return nil, fmt.Errorf("%.20q is not hexadecimal", s[i:])
		}
		var v byte
		for _, c := range []byte(s[i+2 : i+4]) {
			v = v<<4 | c&0xf
			if c >= 'a' {
				v += 9
			}
		}
		b = append(b, v)
	}
	return b, nil
}

// image is what a disk holds of the file: its size and its pages.
type image struct {
	size  int64
	pages map[int64][]byte
}

const pageSize = 4096

func (m *image) clone() *image { return &image{m.size, maps.Clone(m.pages)} }

func (m *image) apply(o *powerOp) {
	if o.name == "ftruncate" {
		m.size = o.at
		for p := range m.pages {
			if p*pageSize >= m.size {
				delete(m.pages, p)
			}
		}
		return
	}
	m.size = max(m.size, o.at+int64(len(o.data)))
	for at, data := o.at, o.data; len(data) > 0; {
		page := make([]byte, pageSize)
		copy(page, m.pages[at/pageSize])
		n := copy(page[at%pageSize:], data)
		m.pages[at/pageSize] = page
		at, data = at+int64(n), data[n:]
	}
}

// write makes a file hold what the disk holds, by writing the pages in which it differs.
func (m *image) write(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	end := int64(0) // of the pages; what follows is zeros
	for p := range m.pages {
		end = max(end, (p+1)*pageSize)
	}
	is, zeros := make([]byte, end), make([]byte, pageSize)
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.ReadAt(is, 0); err != nil {
		return err
	}
	for at := int64(0); at < end; at += pageSize {
		page := m.pages[at/pageSize]
		if page == nil {
			page = zeros
		}
		if !bytes.Equal(page, is[at:at+pageSize]) {
			if _, err := f.WriteAt(page, at); err != nil {
				return err
			}
		}
	}
	return errors.Join(f.Truncate(m.size), f.Close())
}

// When the power goes, the disk has everything up to the last sync that ended, and
// of what was written since it may have any part. Whatever it has, the file opens,
// is whole, and holds every append that had been answered.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	path := filepath.Join(inMemory(t), "store.db")
	ops := watchWrites(t, path)
	var syncs, acks, writes, records []*powerOp
	for _, o := range ops {
		switch {
		case o.file == "acks":
			acks = append(acks, o)
		case o.file == recordsFile:
			records = append(records, o)
		case o.syncs():
			syncs = append(syncs, o)
		default:
			writes = append(writes, o)
		}
	}
	t.Logf("%d writes, %d syncs, %d answers", len(writes), len(syncs), len(acks))
	if len(acks) < 60 || len(syncs) < 60 {
		t.Errorf("%d answers and %d syncs: the workload is not what it was", len(acks), len(syncs))
	}
	recordsFollow(t, records, writes, syncs)
	random := rand.New(rand.NewPCG(1, 2))
	disk := &image{pages: map[int64][]byte{}}
	for k, sync := range syncs {
		if sync.draft {
			continue // nobody sees it; its writes count with the first sync of the store
		}
		until := ops[len(ops)-1].end + 1 // of the time in which this sync is the last
		if k+1 < len(syncs) {
			until = syncs[k+1].end
		}
		var since []*powerOp // on their way to the disk in that time
		for _, w := range writes {
			switch {
			case w.end < sync.begin && (k == 0 || syncs[k-1].draft || w.end >= syncs[k-1].begin):
				disk.apply(w)
			case w.end >= sync.begin && w.begin < until:
				since = append(since, w)
			}
		}
		held := map[string]powerAck{}
		for _, a := range acks {
			var ack powerAck
			need(json.Unmarshal(a.data, &ack))
			if a.begin < until {
				held[ack.Task] = ack
			}
		}
		for variant := range 5 {
			lost := disk.clone()
			if len(since) == 0 && variant > 0 {
				break
			}
			for i, w := range since {
				switch variant {
				case 1, 2: // any of them
					if random.IntN(2) == 0 {
						lost.apply(w)
					}
				case 3: // all, and half of the last
					if i == len(since)-1 && len(w.data) > 512 {
						half := *w
						half.data = w.data[:len(w.data)/1024*512]
						w = &half
					}
					lost.apply(w)
				case 4: // any of their pages
					for _, page := range w.byPage() {
						if random.IntN(2) == 0 {
							lost.apply(page)
						}
					}
				}
			}
			need(lost.write(path))
			if err := inspect(path, held); err != nil {
				t.Fatalf("power lost after sync %d of %d, %d writes on their way, variant %d, %d tasks answered: %v", k+1, len(syncs), len(since), variant, len(held), err)
			}
		}
	}
}

// recordsFollow checks that each record of a commit is written after the commit was synced: a power
// loss never leaves a record that is newer than its store, which would refuse the store.
func recordsFollow(t *testing.T, records, writes, syncs []*powerOp) {
	t.Helper()
	const (
		recordSize = 28 // the number of the transaction is at its byte 16
		txID       = 64 // place in a meta page of bbolt, which is one of the first two
	)
	metas := map[uint64]*powerOp{} // by transaction
	for _, w := range writes {
		if !w.draft && w.name == "pwrite64" && (w.at == 0 || w.at == pageSize) && len(w.data) >= txID+8 {
			metas[binary.NativeEndian.Uint64(w.data[txID:])] = w
		}
	}
	n := 0
	for _, r := range records {
		if len(r.data) != recordSize {
			continue // the file is made
		}
		n++
		tx := binary.BigEndian.Uint64(r.data[16:])
		meta := metas[tx]
		if meta == nil || !slices.ContainsFunc(syncs, func(s *powerOp) bool { return !s.draft && s.begin > meta.end && s.end < r.begin }) {
			t.Errorf("the record of transaction %d is written before its commit is synced", tx)
		}
	}
	if n < 40 {
		t.Errorf("%d records: the workload is not what it was", n)
	}
}

// inspect opens a file and looks for what it has to hold.
func inspect(path string, held map[string]powerAck) (err error) {
	older(path)
	if err := boltCheck(path); err != nil {
		return err
	}
	db, err := boltstore.Options{Ahead: -1}.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h, err := db.Handle()
	if err != nil {
		return err
	}
	var errs []error
	for _, ack := range held {
		if err := holds(h, ack); err != nil {
			errs = append(errs, fmt.Errorf("%+v: %w", ack, err))
		}
	}
	return errors.Join(errs...)
}

func holds(h store.Handle, ack powerAck) error {
	ctx := context.Background()
	id, _ := store.ParseTaskID(ack.Task)
	read := uint64(0)
	for more := true; more; {
		v, err := h.Read(ctx, store.System(), id, store.After(read), store.Limit{})
		if ack.Going && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if ack.Gone {
			return fmt.Errorf("Read() = %w, want that it is deleted", err)
		}
		if err != nil {
			return err
		}
		for _, e := range v.Events {
			if read++; e.Seq != read {
				return fmt.Errorf("event %d follows %d", e.Seq, read-1)
			}
			if len(e.Data) < 4 || !bytes.Equal(e.Data, pattern(id, e.Seq, int(binary.BigEndian.Uint32(e.Data)))) {
				return fmt.Errorf("event %d is not what was appended", e.Seq)
			}
		}
		more = v.More
		if !more && (read < ack.Last || read != v.Header.Seq || v.Header.Rev < ack.Rev) {
			return fmt.Errorf("has %d events, seq %d and rev %d: %w", read, v.Header.Seq, v.Header.Rev, io.ErrUnexpectedEOF)
		}
	}
	page, err := h.Rows(ctx, store.System(), store.RowQuery{Kind: "approval", Task: id, Key: []byte("row")})
	if err != nil {
		return err
	}
	if ack.Row > 0 && (len(page.Rows) != 1 || page.Rows[0].Rev < ack.Row) {
		return fmt.Errorf("its row is %+v", page.Rows)
	}
	return nil
}
