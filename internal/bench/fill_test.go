package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// fillers is how many tasks are made at a time: so many share a commit. It is as many
// as the engine takes at once.
const fillers = 256

// fill adds parked tasks to a file until it has s.Tasks of them or s.Limit is over,
// through the engine, so that they are what a client's messages would have made, and
// says how many it added.
func fill(s *spec) error {
	idFile, err := os.OpenFile(s.IDs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer idFile.Close()
	info, err := idFile.Stat()
	if err != nil {
		return err
	}
	have := info.Size() / int64(len(engine.ID{}))
	began := time.Now()
	b, err := open(s.File)
	if err != nil {
		return err
	}
	engine, err := newEngine(b, newGate())
	if err != nil {
		return err
	}
	stop := run(engine, b)
	filled, err := park(engine, bufio.NewWriter(idFile), s, have, began.Add(s.Limit))
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report{CPU: cpu(), Elapsed: time.Since(began), Filled: filled})
}

func park(e *engine.Engine, ids *bufio.Writer, s *spec, have int64, until time.Time) (int, error) {
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
		done int
	)
	next.Store(have)
	one := func(i int64) error {
		m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewDataPart(map[string]any{"tool": "park", "args": map[string]any{"text": fmt.Sprintf("text %016d", i)}}))
		sent, err := e.Send(context.Background(), engine.Send{By: auth.Anonymous(), Message: m})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		_, err = ids.Write(sent.Task[:])
		return err
	}
	for range fillers {
		wg.Go(func() {
			for time.Now().Before(until) {
				i := next.Add(1) - 1
				if i >= int64(s.Tasks) {
					return
				}
				if err := one(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return done, errors.Join(append(errs, ids.Flush())...)
}
