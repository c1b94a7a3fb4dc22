package httpd

import (
	"testing"
	"time"
)

// However many callers and addresses come, a bounded number is remembered, and one that keeps
// coming is not forgotten among them.
func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	b, now := newBuckets(1, 1), time.Now()
	find(b, "hog", true).AllowN(now, 1)
	for i := range 5 * maxBuckets {
		find(b, i, true)
		if i%1000 == 0 && find(b, "hog", true).AllowN(now, 1) {
			t.Fatalf("a caller beyond its rate is forgotten after %d others", i)
		}
	}
	if n := len(b.now) + len(b.old); n > 2*maxBuckets || n < maxBuckets {
		t.Errorf("%d callers are remembered, want at most %d", n, 2*maxBuckets)
	}
}
