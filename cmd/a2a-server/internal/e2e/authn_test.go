package e2e_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/oidctest"
	"a2a-server/internal/testserver"
	"a2a-server/internal/tlsfiles/tlstest"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// secure is a server that knows its callers in every way that there is.
type secure struct {
	*instance
	ca     *tlstest.CA
	issuer *oidctest.Issuer
	keys   string // the file of API keys
	key    string // of alice
}

// everyWay is the configuration of such a server. FOLDER and ISSUER are replaced.
const everyWay = `
store: memory
trusted_proxies: [127.0.0.1]
tls: {cert: FOLDER/t.crt, key: FOLDER/t.key, client_ca: FOLDER/ca.pem}
auth:
  tenant: acme
  default_roles: [requester]
  keys: {file: FOLDER/keys.yaml}
  oidc:
    - name: corp
      issuer: ISSUER
      audiences: [a2a]
      networks: [127.0.0.1]
      roles: {claim: groups, map: {sre: [requester, ops], audit: [viewer]}}
  mtls: {subject: uri_san, tenant: machines, roles: [requester]}
  proxy: {header: X-Forwarded-User, from: [127.0.0.1], roles: {header: X-Forwarded-Groups, map: {ops: [requester, ops]}}}
`

// who is a tool that says who calls it.
func who() tool.Toolset {
	type none struct{}
	return tool.NewToolset("who", functiontool.Must(functiontool.New(functiontool.Config{Name: "who", Description: "says who calls"},
		func(ctx tool.Context, _ none) (string, error) {
			return ctx.Tenant() + "/" + ctx.UserID() + " " + strings.Join(ctx.Roles(), ","), nil
		})))
}

// required is the configuration of a server without which there is no connection without a
// certificate.
const required = "store: memory\ntls: {cert: FOLDER/t.crt, key: FOLDER/t.key, client_ca: FOLDER/ca.pem, client_auth: required}\n"

// startSecure starts one with everyWay and more configuration.
func startSecure(t *testing.T, more string, changes ...func(*secure, *testserver.Config)) *secure {
	t.Helper()
	return startTLS(t, everyWay+more, changes...)
}

// startTLS starts a server with a configuration, in which FOLDER and ISSUER are replaced.
func startTLS(t *testing.T, text string, changes ...func(*secure, *testserver.Config)) *secure {
	t.Helper()
	s := &secure{ca: tlstest.NewCA(t), issuer: oidctest.New(t)}
	folder := t.TempDir()
	s.keys = filepath.Join(folder, "keys.yaml")
	s.ca.Server(t).Write(t, filepath.Join(folder, "t.crt"), filepath.Join(folder, "t.key"))
	tlstest.Write(t, filepath.Join(folder, "ca.pem"), s.ca.PEM)
	s.key = newKey(t, s.keys, apikey.Key{ID: "alice"})
	c, _ := configured(t, strings.NewReplacer("FOLDER", folder, "ISSUER", s.issuer.URL).Replace(text))
	c.Tools = []tool.Toolset{who()}
	for _, change := range changes {
		change(s, &c)
	}
	s.instance = start(t, c)
	s.url = strings.Replace(s.url, "http://", "https://", 1)
	s.client = s.as(t, tlstest.Pair{})
	return s
}

// as returns a client with a certificate, or without one if the pair is empty.
func (s *secure) as(t *testing.T, pair tlstest.Pair) *http.Client {
	t.Helper()
	c := &tls.Config{RootCAs: s.ca.Pool()}
	if pair.Cert != nil {
		cert := pair.TLS(t)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// named returns the certificate of a client whose name is a URI.
func (s *secure) named(t *testing.T, ca *tlstest.CA) tlstest.Pair {
	t.Helper()
	return ca.Client(t, func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "acme", Path: "/billing"}} })
}

// says returns what who says to a caller, or the status and the body of a refusal.
func (s *secure) says(t *testing.T, client *http.Client, header ...string) (int, string) {
	t.Helper()
	as := *s.instance
	as.client = client
	a := as.fetch(t, http.MethodPost, "/", request(t, "SendMessage", message(rand.Text(), "/who")), header...)
	if task, ok := taskOf(t, a.Body); ok && len(task.Artifacts) > 0 {
		return a.Status, task.Artifacts[0].Parts[0].Text
	}
	return a.Status, a.Body
}

// Each way to authenticate names its callers over HTTP and gRPC, none makes good for another,
// and one request has one credential.
func TestEveryWayToAuthenticate(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "grpc: {listen: 127.0.0.1:0}\n")
	token := "Bearer " + s.issuer.Token(t, nil)
	expired := "Bearer " + s.issuer.Token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})
	other := "Bearer " + oidctest.New(t).Token(t, map[string]any{"iss": s.issuer.URL})
	billing := s.named(t, s.ca)
	for name, c := range map[string]struct {
		cert   tlstest.Pair
		header []string
		status int
		says   string
	}{
		"key":                   {header: []string{"X-API-Key", s.key}, status: 200, says: "acme/key:alice requester"},
		"token":                 {header: []string{"Authorization", token}, status: 200, says: "acme/corp:alice ops,requester"},
		"certificate":           {cert: billing, status: 200, says: "machines/mtls:spiffe://acme/billing requester"},
		"proxy":                 {header: []string{"X-Forwarded-User", "paula", "X-Forwarded-Groups", "staff, ops"}, status: 200, says: "acme/proxy:paula requester,ops"},
		"proxy, defaults":       {header: []string{"X-Forwarded-User", "paula"}, status: 200, says: "acme/proxy:paula requester"},
		"nothing":               {status: 401, says: "could not be authenticated"},
		"wrong key":             {header: []string{"X-API-Key", "k"}, status: 401, says: "not an API key"},
		"expired token":         {header: []string{"Authorization", expired}, status: 401, says: "expired"},
		"token of another key":  {header: []string{"Authorization", other}, status: 401, says: "signature"},
		"other audience":        {header: []string{"Authorization", "Bearer " + s.issuer.Token(t, map[string]any{"aud": "b"})}, status: 401, says: "audience"},
		"key as a token":        {header: []string{"Authorization", "Bearer " + s.key}, status: 401},
		"a role lacks":          {header: []string{"Authorization", "Bearer " + s.issuer.Token(t, map[string]any{"groups": []string{"audit"}})}, status: 403, says: "requester"},
		"key and token":         {header: []string{"X-API-Key", s.key, "Authorization", token}, status: 401, says: "more than one kind"},
		"key and wrong token":   {header: []string{"X-API-Key", s.key, "Authorization", expired}, status: 401, says: "expired"},
		"key and certificate":   {cert: billing, header: []string{"X-API-Key", s.key}, status: 401, says: "more than one kind"},
		"proxy and wrong key":   {header: []string{"X-Forwarded-User", "paula", "X-API-Key", "k"}, status: 401, says: "not an API key"},
		"token and certificate": {cert: billing, header: []string{"Authorization", token}, status: 401, says: "more than one kind"},
		"binary":                {header: []string{"Authorization-Bin", "Bearer x", "X-API-Key-Bin", s.key}, status: 401, says: "could not be authenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if status, says := s.says(t, s.as(t, c.cert), c.header...); status != c.status || !strings.Contains(says, c.says) {
				t.Errorf("%d %s, want %d %s", status, says, c.status, c.says)
			}
			if status, says := saysOver(t, s.grpcAs(t, c.cert), c.header...); httpStatuses[status] != c.status || !strings.Contains(says, c.says) {
				t.Errorf("over gRPC %v %s, want %d %s", status, says, c.status, c.says)
			}
		})
	}
	t.Run("challenges", func(t *testing.T) {
		t.Parallel()
		var schemes []string
		for _, challenge := range s.fetch(t, http.MethodGet, "/tasks", "").Header.Values("WWW-Authenticate") {
			scheme, _, _ := strings.Cut(challenge, " ")
			schemes = append(schemes, scheme)
		}
		if want := []string{"ApiKey", "TrustedProxy", "Bearer", "TLS-Client-Certificate"}; !slices.Equal(schemes, want) {
			t.Errorf("the challenges are %v, want %v", schemes, want)
		}
	})
	t.Run("foreign certificate", func(t *testing.T) {
		t.Parallel()
		resp, err := s.as(t, s.named(t, tlstest.NewCA(t))).Get(s.url) //nolint:noctx // bounded by the client
		if err == nil {
			_ = resp.Body.Close()
			t.Error("a certificate of another authority is accepted")
		}
	})
	t.Run("versions of HTTP", func(t *testing.T) {
		t.Parallel()
		for _, h2 := range []bool{true, false} {
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool()}, ForceAttemptHTTP2: h2}
			resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(s.url + "/livez") //nolint:noctx // bounded by the client
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusOK || (resp.ProtoMajor == 2) != h2 || resp.TLS == nil {
				t.Errorf("%s %s, want HTTP/2 %v", resp.Status, resp.Proto, h2)
			}
			_ = resp.Body.Close()
			transport.CloseIdleConnections()
		}
	})
}

// A server starts without its issuer: tokens get 503 until the keys are known, and
// everything else works meanwhile.
func TestIssuerIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	s := startSecure(t, "", func(s *secure, c *testserver.Config) {
		s.issuer.Up.Store(false)
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	token := []string{"Authorization", "Bearer " + s.issuer.Token(t, nil)}
	for range 2 {
		got := s.fetch(t, http.MethodGet, "/tasks", "", token...)
		if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || got.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("a token while the issuer is down: %+v", got)
		}
	}
	if status, says := s.says(t, s.client, "X-API-Key", s.key); status != http.StatusOK {
		t.Errorf("a key while the issuer is down: %d %s", status, says)
	}
	for _, path := range []string{"/readyz", "/.well-known/agent-card.json"} {
		if status, text := s.get(t, path); status != http.StatusOK {
			t.Errorf("%s while the issuer is down: %d %s", path, status, text)
		}
	}
	s.issuer.Up.Store(true)
	ahead.Store(int64(31 * time.Second))
	if status, says := s.says(t, s.client, token...); status != http.StatusOK || !strings.Contains(says, "corp:alice") {
		t.Errorf("a token when the issuer is there: %d %s", status, says)
	}
	s.issuer.Up.Store(false)
	if status, says := s.says(t, s.client, "Authorization", "Bearer "+s.issuer.Token(t, map[string]any{"sub": "bob"})); status != http.StatusOK || !strings.Contains(says, "corp:bob") {
		t.Errorf("a token when the keys are known and the issuer is down: %d %s", status, says)
	}
}

// The certificate of an issuer may be of an authority that only its entry names. Without it,
// the log says what to set.
func TestIssuerWithOwnAuthority(t *testing.T) {
	t.Parallel()
	issuer, folder := oidctest.NewTLS(t), t.TempDir()
	other := tlstest.NewCA(t).PEM
	tlstest.Write(t, filepath.Join(folder, "idp.pem"), append(append([]byte{}, other...), issuer.CA...))
	tlstest.Write(t, filepath.Join(folder, "other.pem"), other)
	config := func(ca string) testserver.Config {
		c := load(t, nil)
		c.File = filepath.Join(folder, rand.Text()+".yaml")
		rewrite(t, c.File, "store: memory\nauth:\n  default_roles: [requester]\n  oidc:\n"+
			"    - {name: first, issuer: https://first.example, audiences: [a2a]}\n"+
			"    - {name: corp, issuer: "+issuer.URL+", audiences: [a2a], networks: [127.0.0.1], "+ca+"}\n")
		return c
	}
	token := "Bearer " + issuer.Token(t, nil)
	for ca, want := range map[string]int{
		"ca: idp.pem": http.StatusOK, "ca: " + filepath.Join(folder, "idp.pem"): http.StatusOK,
		"ca: other.pem": http.StatusServiceUnavailable, `ca: ""`: http.StatusServiceUnavailable,
	} {
		in := start(t, config(ca))
		if status, text := in.do(t, http.MethodGet, "/tasks", "", "Authorization", token); status != want {
			t.Errorf("%s: %d %s, want %d", ca, status, text, want)
		}
		if lines := in.log.find("cannot fetch the keys of the issuer; tokens that need new keys are answered with 503"); want != http.StatusOK &&
			(len(lines) == 0 || !strings.Contains(fmt.Sprint(lines[0]["error"]), "add its authority as ca")) {
			t.Errorf("%s: the log does not say what to set: %v", ca, lines)
		}
	}
	for file, says := range map[string]string{
		"": "not a regular file", "none.pem": "no such file", "text.pem": "no PEM certificate found", "broken.pem": "certificate 2",
	} {
		tlstest.Write(t, filepath.Join(folder, "text.pem"), []byte("nothing"))
		tlstest.Write(t, filepath.Join(folder, "broken.pem"), append(append([]byte{}, other...), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})...))
		c := config("ca: " + filepath.Join(folder, file))
		for _, err := range []error{testserver.Check(c), func() error { _, err := testserver.New(c); return err }()} {
			if !errors.Is(err, a2aserver.ErrConfig) || !strings.Contains(err.Error(), "auth.oidc[1].ca: ") || !strings.Contains(err.Error(), says) {
				t.Errorf("with %q: %v, want it to say %s", file, err, says)
			}
		}
	}
}

// An issuer whose discovery names the server itself for its keys is not asked there.
func TestKeysOfTheServerItself(t *testing.T) {
	t.Parallel()
	var of, keys atomic.Pointer[string]
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, *of.Load(), *keys.Load())
	}))
	t.Cleanup(issuer.Close)
	of.Store(&issuer.URL)
	c, _ := configured(t, fmt.Sprintf(`{store: memory, auth: {oidc: [{name: corp, issuer: %q, audiences: [a2a], roles: [requester], networks: [127.0.0.1]}]}}`, issuer.URL))
	in := start(t, c)
	own := in.url + "/keys"
	keys.Store(&own)
	token := oidctest.New(t).Token(t, map[string]any{"iss": issuer.URL, "aud": "a2a"})
	if status, text := in.do(t, http.MethodGet, "/tasks", "", "Authorization", "Bearer "+token); status != http.StatusServiceUnavailable {
		t.Errorf("GET /tasks = %d %s, want 503", status, text)
	}
	if lines := in.log.find("cannot fetch the keys of the issuer; tokens that need new keys are answered with 503"); len(lines) != 1 || !strings.Contains(fmt.Sprint(lines), "an address on which this server listens") {
		t.Errorf("the log says %v, want that the address is the server's own", lines)
	}
}

// Who lacks the role of a tool does not see it and cannot call it; the card for everybody
// does not show it either.
func TestToolsForSome(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "tools: [{builtin: demo, for: {roles: [ops], callers: [\"acme/key:carol\", \"key:dave\", \"other/key:erin\"]}}]\n")
	carol, dave, erin := newKey(t, s.keys, apikey.Key{ID: "carol"}), newKey(t, s.keys, apikey.Key{ID: "dave"}), newKey(t, s.keys, apikey.Key{ID: "erin"})
	s.reload(t)
	call := request(t, "SendMessage", message("m", "/echo text=hello"))
	for name, c := range map[string]struct {
		header []string
		may    bool
	}{
		"role":              {[]string{"Authorization", "Bearer " + s.issuer.Token(t, nil)}, true},
		"caller":            {[]string{"X-API-Key", carol}, true},
		"in any tenant":     {[]string{"X-API-Key", dave}, true},
		"in another tenant": {[]string{"X-API-Key", erin}, false},
		"other":             {[]string{"X-API-Key", s.key}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, text := s.do(t, http.MethodPost, "/", call, c.header...); strings.Contains(text, `"text":"hello"`) != c.may {
				t.Errorf("a call, which is allowed %v: %s", c.may, text)
			}
			card := s.fetch(t, http.MethodGet, "/extendedAgentCard", "", c.header...)
			if card.Status != http.StatusOK || strings.Contains(card.Body, `"id":"echo"`) != c.may || !strings.Contains(card.Body, `"id":"who"`) {
				t.Errorf("the extended card, with the tool %v: %+v", c.may, card)
			}
			if cache, vary := card.Header.Get("Cache-Control"), card.Header.Values("Vary"); !strings.HasPrefix(cache, "private") || !slices.Contains(vary, "X-API-Key") || !slices.Contains(vary, "X-Forwarded-User") || !slices.Contains(vary, "Authorization") {
				t.Errorf("the extended card may be kept as %q, vary %q", cache, vary)
			}
			_, rpc := s.do(t, http.MethodPost, "/", request(t, "GetExtendedAgentCard", map[string]any{}), c.header...)
			if strings.Contains(rpc, `"id":"echo"`) != c.may {
				t.Errorf("the extended card by JSON-RPC: %s", rpc)
			}
		})
	}
	if status, text := s.get(t, "/extendedAgentCard"); status != http.StatusUnauthorized {
		t.Errorf("the extended card for nobody: %d %s", status, text)
	}
	skills, _, h := s.card(t, "")
	if !slices.Equal(skills, []string{"who"}) {
		t.Errorf("the card for everybody has %v", skills)
	}
	if _, status, _ := s.card(t, h.Get("ETag")); status != http.StatusNotModified {
		t.Errorf("the same card: %d", status)
	}
	if listening := s.log.find("listening"); len(listening) != 1 || listening[0]["tools_for_some"] != "demo" {
		t.Errorf("the log says %v", listening)
	}
}

// The card says which credentials are needed, in the form that is configured, and nothing
// that is not enforced.
func TestCardSaysWhatIsEnforced(t *testing.T) {
	t.Parallel()
	type scheme = map[string]map[string]string
	type card struct {
		SecuritySchemes      map[string]scheme
		SecurityRequirements []struct{ Schemes map[string]json.RawMessage }
	}
	read := func(s *secure) (schemes, requirements []string, of card) {
		_, text := s.do(t, http.MethodGet, "/.well-known/agent-card.json", "", "A2A-Version", "1.0")
		if err := json.Unmarshal([]byte(text), &of); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for name, s := range of.SecuritySchemes {
			for kind := range s {
				schemes = append(schemes, name+" "+kind)
			}
		}
		for _, r := range of.SecurityRequirements {
			var names []string
			for name, scopes := range r.Schemes {
				names = append(names, name+string(scopes))
			}
			slices.Sort(names)
			requirements = append(requirements, strings.Join(names, " "))
		}
		slices.Sort(schemes)
		return schemes, requirements, of
	}
	for form, want := range map[string][]string{
		"spec": {`apiKey{"list":[]}`, `proxy{"list":[]}`, `corp{"list":[]}`, `mtls{"list":[]}`},
		"go":   {"apiKey[]", "proxy[]", "corp[]", "mtls[]"},
		"omit": nil,
	} {
		s := startSecure(t, "card: {security_form: "+form+"}\n")
		schemes, requirements, of := read(s)
		_, text := s.do(t, http.MethodGet, "/.well-known/agent-card.json", "", "A2A-Version", "1.0")
		errs := map[string]error{"spec": protojson.Unmarshal([]byte(text), &a2apb.AgentCard{}), "go": json.Unmarshal([]byte(text), &sdk.AgentCard{})}
		for reader, err := range errs {
			if (err == nil) != (form == reader || form == "omit") {
				t.Errorf("who reads the form %s gets the card in the form %s: %v", reader, form, err)
			}
		}
		all := []string{"apiKey apiKeySecurityScheme", "corp openIdConnectSecurityScheme", "mtls mtlsSecurityScheme", "proxy httpAuthSecurityScheme"}
		if form == "omit" {
			all = nil
		}
		if diff := cmp.Diff([][]string{all, want}, [][]string{schemes, requirements}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
		if form == "omit" {
			continue
		}
		if at := of.SecuritySchemes["corp"]["openIdConnectSecurityScheme"]["openIdConnectUrl"]; at != s.issuer.URL+"/.well-known/openid-configuration" {
			t.Errorf("the discovery document is %q", at)
		}
		if header := of.SecuritySchemes["apiKey"]["apiKeySecurityScheme"]["name"]; header != "X-API-Key" {
			t.Errorf("the header is %q", header)
		}
	}
}

// Each caller has a rate of their own, and each address may fail so often; a proxy's clients
// are not one address.
func TestRatesOfCallers(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	began := time.Now()
	s := startSecure(t, "limits: {rate: 1, auth_failures: 2}\n", func(_ *secure, c *testserver.Config) {
		c.Now = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	})
	from := func(address string, header ...string) (status int, retryAfter string) {
		a := s.fetch(t, http.MethodGet, "/tasks", "", append(header, "X-Forwarded-For", "192.0.2.200, "+address)...)
		return a.Status, a.Header.Get("Retry-After")
	}
	token := "Bearer " + s.issuer.Token(t, nil)
	for i, want := range []int{200, 200, 429, 429} {
		if got, after := from("192.0.2.1", "X-API-Key", s.key); got != want || want == 429 && after != "1" {
			t.Errorf("request %d: %d, Retry-After %q, want %d", i, got, after, want)
		}
	}
	if _, text := s.do(t, http.MethodPost, "/", request(t, "ListTasks", map[string]any{}), "X-API-Key", s.key); !strings.Contains(text, "RATE_LIMIT_EXCEEDED") {
		t.Errorf("by JSON-RPC: %s", text)
	}
	if got, _ := from("192.0.2.1", "Authorization", token); got != http.StatusOK {
		t.Errorf("another caller: %d", got)
	}
	ahead.Store(int64(time.Second))
	if got, _ := from("192.0.2.1", "X-API-Key", s.key); got != http.StatusOK {
		t.Errorf("a second later: %d", got)
	}
	for i, want := range []int{401, 401, 429} {
		if got, _ := from("192.0.2.7", "X-API-Key", "wrong"); got != want {
			t.Errorf("wrong key %d: %d, want %d", i, got, want)
		}
	}
	ahead.Store(int64(3 * time.Second))
	for address, want := range map[string]int{"192.0.2.7": 429, "192.0.2.8": 200} {
		if got, _ := from(address, "Authorization", token); got != want {
			t.Errorf("a valid token from %s: %d, want %d", address, got, want)
		}
	}
	if got, _ := from("192.0.2.7"); got != 429 {
		t.Errorf("no credential from that address: %d", got)
	}
	ahead.Store(int64(time.Minute))
	if got, _ := from("192.0.2.7", "Authorization", token); got != http.StatusOK {
		t.Errorf("a minute later: %d", got)
	}
	warned := slices.DeleteFunc(s.log.saying("trusted_proxies"), func(line map[string]any) bool { return line["address"] != "192.0.2.7/32" })
	if len(warned) != 1 {
		t.Errorf("the log warns %d times of the address, want once", len(warned))
	}
}

// What one caller may hold is counted by who they are, not by how many.
func TestSharesOfCallers(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "limits: {streams: 4}\ntools: [{builtin: demo}]\n")
	token := "Bearer " + s.issuer.Token(t, nil)
	stream := func() string {
		return request(t, "SendStreamingMessage", message(rand.Text(), `/stream {"chunks":100000,"size":10,"interval":"10ms"}`))
	}
	open := func(header ...string) string {
		resp := s.open(t, http.MethodPost, "/", stream(), header...)
		t.Cleanup(func() { _ = resp.Body.Close() })
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	for i, c := range []struct {
		header []string
		opens  bool
	}{
		{[]string{"X-API-Key", s.key}, true},
		{[]string{"X-API-Key", s.key}, false},
		{[]string{"Authorization", token}, true},
		{[]string{"Authorization", token}, false},
	} {
		if got := open(c.header...); strings.Contains(got, "1 streams are open for this caller") == c.opens {
			t.Errorf("stream %d, which opens %v: %s", i, c.opens, got)
		}
	}
}

// A page of an origin that may only read can send nothing, and others can do nothing.
func TestOrigins(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "allowed_origins: [https://desk.example]\nread_origins: [https://wall.example]\n")
	send := request(t, "SendMessage", message("m", "/who"))
	for _, c := range []struct {
		method, path, origin, asks string
		status                     int
	}{
		{"GET", "/tasks", "https://wall.example", "", 200},
		{"POST", "/", "https://wall.example", "", 403},
		{"POST", "/message:send", "https://wall.example", "", 403},
		{"DELETE", "/tasks/x/pushNotificationConfigs/y", "https://wall.example", "", 403},
		{"OPTIONS", "/tasks", "https://wall.example", "GET", 204},
		{"OPTIONS", "/message:send", "https://wall.example", "POST", 403},
		{"OPTIONS", "/", "https://wall.example", "", 403},
		{"POST", "/", "https://desk.example", "", 200},
		{"OPTIONS", "/", "https://desk.example", "POST", 204},
		{"OPTIONS", "/", "https://desk.example.evil.example", "POST", 403},
		{"OPTIONS", "/tasks", "*", "GET", 403},
		{"GET", "/tasks", "null", "", 403},
	} {
		header := []string{"Origin", c.origin}
		if c.method != http.MethodOptions { // a browser asks without credentials
			header = append(header, "X-API-Key", s.key)
		} else if c.asks != "" {
			header = append(header, "Access-Control-Request-Method", c.asks, "Access-Control-Request-Headers", "x-api-key")
		}
		a := s.fetch(t, c.method, c.path, send, header...)
		h := a.Header
		allowed := ""
		if c.status < 300 {
			allowed = c.origin
		}
		if a.Status != c.status || h.Get("Access-Control-Allow-Origin") != allowed || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s from %s, asking for %q: %+v, want %d", c.method, c.path, c.origin, c.asks, a, c.status)
		}
		if c.status == http.StatusNoContent && !strings.Contains(strings.ToLower(h.Get("Access-Control-Allow-Headers")), "x-api-key") {
			t.Errorf("%s %s from %s allows the headers %q", c.method, c.path, c.origin, h.Get("Access-Control-Allow-Headers"))
		}
		if methods := h.Get("Access-Control-Allow-Methods"); c.origin == "https://wall.example" && c.status == http.StatusNoContent && methods != "GET" {
			t.Errorf("%s allows the methods %q", c.origin, methods)
		}
	}
	// A page that makes a browser use its user's certificate needs no CORS to do harm.
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200} {
		as := *s.instance
		as.client = s.as(t, s.named(t, s.ca))
		if status, text := as.do(t, http.MethodGet, "/tasks", "", "Sec-Fetch-Site", site); status != want {
			t.Errorf("a request with a certificate from %s: %d %s, want %d", site, status, text, want)
		}
		// Such a page may call, but with a credential of its own.
		if status, text := as.do(t, http.MethodPost, "/", send, "Sec-Fetch-Site", site, "Origin", "https://desk.example"); status != want {
			t.Errorf("a request with a certificate from a page that may call, from %s: %d %s, want %d", site, status, text, want)
		}
	}
	for _, origin := range []string{"*", "https://*.example", "https://?.example", "null", "https://a.example/path"} {
		for _, key := range []string{"allowed_origins", "read_origins"} {
			if err := testserver.Check(load(t, map[string]string{key: origin})); err == nil || !strings.Contains(err.Error(), testserver.Variable(key)) {
				t.Errorf("%s: %s is accepted: %v", key, origin, err)
			}
		}
	}
}

// A reload reads certificates and keys again; what cannot be used changes nothing.
func TestReloadOfCredentials(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "")
	folder := filepath.Dir(s.keys)
	cert, key := filepath.Join(folder, "t.crt"), filepath.Join(folder, "t.key")
	serial := func() string {
		conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute}, Config: &tls.Config{RootCAs: s.ca.Pool()}}).DialContext(t.Context(), "tcp", s.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String() //nolint:errcheck,forcetypeassert // a Dialer returns no other
	}
	before := serial()
	s.ca.Server(t).Write(t, cert, key)
	bob := newKey(t, s.keys, apikey.Key{ID: "bob"})
	if status, _ := s.says(t, s.client, "X-API-Key", bob); status != http.StatusUnauthorized {
		t.Errorf("a new key before the reload: %d", status)
	}
	s.reload(t)
	young := serial()
	if young == before {
		t.Error("after a reload the old certificate is in use")
	}
	if status, says := s.says(t, s.client, "X-API-Key", bob); status != http.StatusOK {
		t.Errorf("a new key after the reload: %d %s", status, says)
	}
	tlstest.Write(t, cert, []byte("nothing"))
	if err := apikey.Revoke(s.keys, "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the error is there each time
		if err := s.server.Reload(); err == nil || !strings.Contains(err.Error(), "t.crt") {
			t.Errorf("Reload() with a broken certificate = %v", err)
		}
	}
	if serial() != young {
		t.Error("a broken certificate has replaced the one in use")
	}
	s.ca.Server(t).Write(t, cert, key)
	billing := s.as(t, s.named(t, s.ca))
	if status, says := s.says(t, billing); status != http.StatusOK {
		t.Errorf("a certificate: %d %s", status, says)
	}
	tlstest.Write(t, filepath.Join(folder, "ca.pem"), tlstest.NewCA(t).PEM)
	s.reload(t)
	if status, says := s.says(t, billing); status != http.StatusUnauthorized || !strings.Contains(says, "authority") {
		t.Errorf("a certificate of a withdrawn authority, on the same connection: %d %s", status, says)
	}
	rewrite(t, s.keys, "- {id: x")
	if err := s.server.Reload(); err == nil || !strings.Contains(err.Error(), "keys.yaml") {
		t.Errorf("Reload() with a broken file of keys = %v", err)
	}
	if status, _ := s.says(t, s.client, "X-API-Key", s.key); status != http.StatusOK {
		t.Errorf("a key after a reload that failed: %d", status)
	}
}

// What a program knows its callers by, and what the file says, are not mixed.
func TestProgramAndFileAuthenticate(t *testing.T) {
	t.Parallel()
	c, _ := configured(t, "auth: {keys: {file: keys.yaml}, default_roles: [requester]}\n")
	c.Authenticator = auth.First()
	if err := testserver.Check(c); err == nil || !strings.Contains(err.Error(), "auth.keys.file") {
		t.Errorf("Check() = %v", err)
	}
}

// Who does not finish a handshake is cut off like one who does not finish a header, and
// nobody else waits meanwhile.
func TestHandshakesComeInTime(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "limits: {read_timeout: 3s}\n") // in which the handshakes of everybody else are done
	for name, sends := range map[string]string{
		"nothing":        "",
		"half a hello":   "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"half a request": "GET / HTTP/1.1\r\nHost: x\r\n",
		"garbage":        strings.Repeat("\xff", 100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := s.dial(t)
			conn.write(sends)
			if status, says := s.says(t, s.client, "X-API-Key", s.key); status != http.StatusOK {
				t.Errorf("somebody else meanwhile: %d %s", status, says)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection stays open")
			}
		})
	}
}

// A certificate without which there is no connection is needed with each credential, and the
// card says so; an issuer whose keys are elsewhere need not have a discovery document. The
// certificate has to count as long as the connection is used, also when a program names the
// caller.
func TestRequiredCertificates(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]auth.Authenticator{
		"a key": nil,
		"a program": auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
			return auth.Principal{Subject: "alice", Roles: []string{auth.RoleRequester}}, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := required
			if program == nil {
				text += `
auth:
  default_roles: [requester]
  keys: {file: FOLDER/keys.yaml}
  oidc: [{name: corp, issuer: "https://idp.example.com", audiences: [a2a], jwks: "https://idp.example.com/keys"}]
`
			}
			s := startTLS(t, text, func(_ *secure, c *testserver.Config) { c.Authenticator = program })
			if resp, err := s.client.Get(s.url + "/livez"); err == nil { //nolint:noctx // bounded by the client
				_ = resp.Body.Close()
				t.Error("there is a connection without a certificate")
			}
			s.client = s.as(t, s.named(t, s.ca))
			if status, _ := s.get(t, "/tasks"); program == nil && status != http.StatusUnauthorized {
				t.Errorf("a certificate alone: %d, want 401", status)
			}
			if status, says := s.says(t, s.client, "X-API-Key", s.key); status != http.StatusOK {
				t.Fatalf("a certificate and a key: %d %s", status, says)
			}
			_, card := s.do(t, http.MethodGet, "/.well-known/agent-card.json", "", "A2A-Version", "1.0")
			for _, want := range []string{
				`"securityRequirements":[{"schemes":{"apiKey":[],"mtls":[]}},{"schemes":{"corp":[],"mtls":[]}}]`,
				`"corp":{"httpAuthSecurityScheme":{"bearerFormat":"JWT"`, `"mtls":{"mtlsSecurityScheme":{"description":`,
			} {
				if program == nil && !strings.Contains(card, want) {
					t.Errorf("the card does not have %s: %s", want, card)
				}
			}
			tlstest.Write(t, filepath.Join(filepath.Dir(s.keys), "ca.pem"), tlstest.NewCA(t).PEM)
			s.reload(t)
			if status, says := s.says(t, s.client, "X-API-Key", s.key); status != http.StatusUnauthorized || !strings.Contains(says, "authority") {
				t.Errorf("after the authority was withdrawn, on the same connection: %d %s", status, says)
			}
		})
	}
}

// A client that does what the card says gets in, also if keys are in the header in which
// tokens are.
func TestCardOfKeysInAuthorization(t *testing.T) {
	t.Parallel()
	s := startTLS(t, "tls: {cert: FOLDER/t.crt, key: FOLDER/t.key}\nauth: {default_roles: [requester], keys: {header: authorization, file: FOLDER/keys.yaml}}\n")
	_, text := s.do(t, http.MethodGet, "/.well-known/agent-card.json", "", "A2A-Version", "1.0")
	if want := `"apiKey":{"httpAuthSecurityScheme":{`; !strings.Contains(text, want) || !strings.Contains(text, `"scheme":"Bearer"`) {
		t.Errorf("the card does not have %s with the scheme Bearer: %s", want, text)
	}
	if status, text := s.do(t, http.MethodGet, "/tasks", "", "Authorization", "Bearer "+s.key); status != http.StatusOK {
		t.Errorf("a key as the card says: %d %s", status, text)
	}
}

// A request that comes without TLS to a port that has it is answered once, and in plain text.
func TestPlainRequestsToTLSAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	l := startSecure(t, "").dial(t)
	l.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	said, err := io.ReadAll(l) // to the end of the connection
	if head, body, _ := strings.Cut(string(said), "\r\n\r\n"); err != nil || !strings.HasPrefix(head, "HTTP/1.0 400 ") || !strings.Contains(body, "HTTPS server") {
		t.Errorf("GET without TLS = %q, %v", said, err)
	}
}
