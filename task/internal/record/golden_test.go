package record_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/internal/golden"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
)

// rowOf returns the row that a change puts.
func rowOf(change store.RowChange, err error) *store.Row {
	if err != nil {
		panic(err)
	}
	return &store.Row{Kind: change.Kind, Key: change.Key, Value: change.Value}
}

// The rows of webhooks, notifications, sweeps and restorations are written and read as their golden files;
// a row of another version is lost data.
func TestGoldenRows(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	now := store.MillisOf(at)
	webhook := record.Webhook{V: record.Version, ID: "w1", N: 3, Scheme: "Bearer", Version: "1.0", Start: 7, By: auth.Principal{Tenant: "acme", Subject: "alice"}, Set: at}
	secrets := record.WebhookSecrets{URL: "https://a.example/hook?sig=1", Token: "t", Credentials: "c"}
	plain := func(b, _ []byte) ([]byte, error) { return b, nil }
	if err := webhook.Seal(store.TaskID{1}, secrets, plain); err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(&webhook) // as rules write it
	if err != nil {
		t.Fatal(err)
	}
	failed := record.Attempts{Tries: 1, Since: now, Next: now + 1, Error: "status"}
	cursor := record.PushCursor{Seq: 7, Epoch: 2, Attempts: failed, Dead: true}
	notification := record.Notification{V: record.Version, Approval: "t.a1", Event: task.NotifyAsked, Route: "ops", At: now, Attempts: failed, Failed: now + 2}
	sweep := record.Sweep{V: record.Version, N: 2, Denials: "d", Begun: at, Done: at}
	restoration := record.Restoration{V: record.Version, ID: "r1", Moment: at, Resumed: at}
	for name, tc := range map[string]struct {
		row  *store.Row
		want any
		read func(row *store.Row) (any, error)
	}{
		"webhook":      {&store.Row{Value: value}, webhook, func(row *store.Row) (any, error) { return record.ParseWebhook(row) }},
		"cursor":       {rowOf(cursor.Row([]byte("k"), 0)), cursor, func(row *store.Row) (any, error) { return record.ParsePushCursor(row) }},
		"notification": {rowOf(notification.Row(0)), notification, func(row *store.Row) (any, error) { return record.ParseNotification(row) }},
		"sweep":        {rowOf(sweep.Row(0)), sweep, func(row *store.Row) (any, error) { return record.ParseSweep(row) }},
		"restoration":  {rowOf(restoration.Row(0)), restoration, func(row *store.Row) (any, error) { return record.ParseRestoration(row) }},
	} {
		kept := golden.File(t, filepath.Join("testdata", name+".json"), string(tc.row.Value)+"\n")
		tc.row.Value = []byte(kept)
		got, err := tc.read(tc.row)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		other := strings.Replace(kept, `"v":1`, `"v":2`, 1)
		if tc.row.Value = []byte(other); other == kept {
			continue // the cursor has no version of its own
		}
		if _, err := tc.read(tc.row); err == nil || !strings.Contains(err.Error(), "has version 2, and this program reads version 1") {
			t.Errorf("%s of version 2: %v", name, err)
		}
	}
	if got, err := webhook.Open(store.TaskID{1}, plain); err != nil || got != secrets {
		t.Errorf("Open() = %+v, %v", got, err)
	}
}
