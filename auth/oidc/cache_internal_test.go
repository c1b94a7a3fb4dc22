package oidc

import (
	"crypto/sha256"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
)

// What is remembered is bounded in number and in bytes, and what is in use is kept.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, subject := range map[string]string{"many": "", "large": strings.Repeat("a", auth.MaxOwner/2)} {
		t.Run(name, func(t *testing.T) {
			var c cache
			most, mostBytes := 0, 0
			used := sha256.Sum256([]byte("used"))
			c.put(used, auth.Principal{Subject: "used"}, now.Add(time.Minute))
			for n := range 50_000 {
				c.put(sha256.Sum256([]byte(strconv.Itoa(n))), auth.Principal{Subject: subject + strconv.Itoa(n)}, now.Add(time.Minute))
				if _, ok := c.get(used, now); !ok {
					t.Fatalf("what is in use is forgotten after %d others", n)
				}
				most = max(most, len(c.young)+len(c.old))
				if n%991 == 0 {
					mostBytes = max(mostBytes, bytesOf(&c))
				}
			}
			if most > maxCached || most < 1000 || mostBytes > maxCachedBytes {
				t.Errorf("%d entries with %d bytes were remembered; at most %d and %d are allowed", most, mostBytes, maxCached, maxCachedBytes)
			}
			if last, ok := c.get(sha256.Sum256([]byte("49999")), now); !ok || last.Subject != subject+"49999" {
				t.Error("the last one is forgotten")
			}
			if _, ok := c.get(used, now.Add(time.Minute)); ok {
				t.Error("an entry is used at its end")
			}
		})
	}
}

// bytesOf returns how long the subjects in a cache are together.
func bytesOf(c *cache) int {
	n := 0
	for _, half := range []map[digest]cached{c.young, c.old} {
		for _, entry := range half {
			n += len(entry.principal.Subject)
		}
	}
	return n
}

// Ten thousand callers take at most ten MiB.
func TestCacheIsSmall(t *testing.T) {
	memory := func() uint64 {
		runtime.GC()
		var is runtime.MemStats
		runtime.ReadMemStats(&is)
		return is.HeapAlloc
	}
	before := memory()
	c := &cache{}
	for n := range maxCached {
		name := strconv.Itoa(n)
		c.put(sha256.Sum256([]byte(name)), auth.Principal{Tenant: "tenant-" + name, Subject: "corp:" + name, Roles: []string{"requester"}, Method: Method}, time.Now())
	}
	if used := int64(memory()) - int64(before); used > 10<<20 {
		t.Errorf("%d KiB are used", used>>10)
	}
	runtime.KeepAlive(c)
}
