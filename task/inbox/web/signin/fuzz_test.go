package signin_test

import (
	"net/url"
	"strings"
	"testing"

	"a2a-server/task/inbox/web/signin"
)

// Whatever a link says, a browser that follows it stays below the path of the pages.
func FuzzLocal(f *testing.F) {
	for _, seed := range []string{"/ui", "/ui/a?b=c#d", "//evil", "/ui/../x", "/ui/%2e%2e/x", "/ui\\x", "https:/ui", "/ui?//", "/ui/;@evil", "/ui/%5c%5cevil"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://a.example/base/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := signin.Local(next)
		u, err := base.Parse(got)
		if err != nil || u.Host != "a.example" || u.Path != "/ui" && !strings.HasPrefix(u.Path, "/ui/") || strings.ContainsAny(got, "\\\r\n\t ") {
			t.Errorf("Local(%q) = %q, which leads to %v, %v", next, got, u, err)
		}
		if again := signin.Local(got); again != got {
			t.Errorf("Local(%q) = %q, and of that %q", next, got, again)
		}
	})
}
