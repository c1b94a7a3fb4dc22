package interop

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// publicURL is where clients of a server with signed cards think that it is.
const publicURL = "https://agent.example/a2a"

// keySet is a JWK Set as far as it is changed here.
type keySet struct {
	Keys []map[string]string `json:"keys"`
}

// signedServer is a server that signs its cards and has every kind of security scheme.
type signedServer struct {
	*server
	client *http.Client
	key    string // an API key
	ca     string // the authority of its certificate, in PEM
	keys   keySet
}

// TestSignedCards verifies the cards of the real program with the SDKs' own code.
func TestSignedCards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "a2a-server")
	must(t, root, "go", "build", "-o", program, "./cmd/a2a-server")
	node := find(t, "node", "install Node.js 20 or newer")
	js := filepath.Join(dir, "js")
	installNode(t, find(t, "npm", "install npm, which comes with Node.js"), js, "js/verify.mjs", "js/package.json", "js/package-lock.json", "js/.npmrc")
	verifiers := map[string][]string{
		"Python":     {installPython(t, "a2a-signing"), "python/a2a-signing/verify.py"},
		"JavaScript": {node, filepath.Join(js, "verify.mjs")},
	}
	for _, form := range []string{"spec", "go", "omit"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := startSigned(t, program, form)
			cards := map[string]string{
				"union":    s.get(t, "/.well-known/agent-card.json"),
				"1.0":      s.get(t, "/.well-known/agent-card.json", "A2A-Version", "1.0"),
				"extended": s.get(t, "/extendedAgentCard", "X-API-Key", s.key, "A2A-Version", "1.0"),
			}
			if !strings.Contains(cards["union"], `"preferredTransport"`) || strings.Contains(cards["1.0"], `"preferredTransport"`) || !strings.Contains(cards["extended"], `"tenant":"acme"`) {
				t.Fatalf("these are not the cards that were asked for: %v", cards)
			}
			if secured := strings.Contains(cards["union"], `"mtlsSecurityScheme"`); secured == (form == "omit") {
				t.Fatalf("the security schemes: %s", cards["union"])
			}
			// What only readers of 0.3 see is not signed: they cannot verify it.
			cards["union, other members of 0.3"] = strings.Replace(cards["union"], `"preferredTransport":"JSONRPC"`, `"preferredTransport":"GRPC"`, 1)
			wrong := s.spoiled(t, cards)
			for name, command := range verifiers {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					for of, problem := range s.verify(t, command, s.keys, cards) {
						if problem != "" {
							t.Errorf("the %s card is refused: %s", of, problem)
						}
					}
					for of, problem := range s.verify(t, command, s.keys, wrong) {
						if problem == "" && of != "gRPC" {
							t.Errorf("a card is accepted: %s", of)
						}
					}
					other := keySet{}
					for _, k := range s.keys.Keys {
						private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
						if err != nil {
							t.Fatal(err)
						}
						point, err := private.PublicKey.Bytes()
						if err != nil {
							t.Fatal(err)
						}
						x, y := point[1:33], point[33:]
						other.Keys = append(other.Keys, map[string]string{
							"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": k["kid"],
							"x": base64.RawURLEncoding.EncodeToString(x), "y": base64.RawURLEncoding.EncodeToString(y),
						})
					}
					for of, problem := range s.verify(t, command, other, cards) {
						if problem == "" {
							t.Errorf("the %s card is accepted with another key", of)
						}
					}
				})
			}
			t.Run("Go", func(t *testing.T) {
				t.Parallel()
				// The Go SDK has the signatures, and no code to verify them. In the form of the
				// specification it loses the whole card.
				for of, card := range cards {
					var v a2a.AgentCard
					if err := json.Unmarshal([]byte(card), &v); (err != nil) != (form == "spec") {
						t.Errorf("the %s card: %v", of, err)
					} else if want := map[string]int{"go": 2, "omit": 1}[form]; len(v.Signatures) != want && err == nil {
						t.Errorf("the %s card has %d signatures, want %d", of, len(v.Signatures), want)
					}
				}
			})
		})
	}
}

// spoiled returns cards that nobody may accept.
func (s *signedServer) spoiled(t *testing.T, cards map[string]string) map[string]string {
	t.Helper()
	signatures := regexp.MustCompile(`,?"signatures":\[[^]]*\]`)
	out := map[string]string{}
	for of, card := range map[string]string{"union": cards["union"], "extended": cards["extended"]} {
		change := func(how, from, to string) {
			t.Helper()
			changed := strings.ReplaceAll(card, from, to)
			if changed == card {
				t.Fatalf("%s: %s has no %s", how, card, from)
			}
			out[of+", "+how] = changed
		}
		change("another name", `"name":"signed"`, `"name":"Signed"`)
		change("another URL", `"supportedInterfaces":[{"url":"`+publicURL+`"`, `"supportedInterfaces":[{"url":"https://evil.example/a2a"`)
		change("another skill", `"skills":[{`, `"skills":[{"id":"evil","name":"evil","description":"evil","tags":["evil"]},{`)
		change("a capability", `"streaming":true`, `"streaming":false`)
		change("an extension that is required", `"uri":"urn:a2a-server`, `"required":true,"uri":"urn:a2a-server`)
		if of == "extended" {
			change("another tenant", `"tenant":"acme"`, `"tenant":"evil"`)
		} else {
			change("a tenant", `"protocolBinding":"HTTP+JSON"`, `"protocolBinding":"HTTP+JSON","tenant":"evil"`)
		}
		change("an icon", `"name":"signed"`, `"iconUrl":"https://evil.example/","name":"signed"`)
		if strings.Contains(card, `"mtlsSecurityScheme"`) {
			// Python reads the members of 0.3 if there are any, so they are changed, too.
			change("another issuer", "https://idp.invalid/.well-known", "https://evil.example/.well-known")
			change("a scheme of another name", `"mtls":{`, `"gone":{`)
		}
		for i, sig := range signatures.FindAllString(card, -1) {
			if i > 0 {
				t.Fatalf("two lists of signatures: %s", card)
			}
			change("its signatures stripped", sig, "")
			change("no signature in the list", sig, `,"signatures":[]`)
			change("the signatures of another card", sig, signatures.FindString(map[string]string{"union": cards["extended"], "extended": cards["union"]}[of]))
			change("another header", sig, regexp.MustCompile(`"protected":"[^"]*"`).ReplaceAllString(sig, `"protected":"eyJhbGciOiJub25lIn0"`))
		}
		out[of+", another byte in each signature"] = regexp.MustCompile(`"signature":"(.)`).ReplaceAllStringFunc(card, func(s string) string {
			if strings.HasSuffix(s, "A") {
				return s[:len(s)-1] + "B"
			}
			return s[:len(s)-1] + "A"
		})
	}
	return out
}

// verify returns what a verifier says of cards, by their names, and of the extended card that
// its own client gets over gRPC.
func (s *signedServer) verify(t *testing.T, command []string, keys keySet, cards map[string]string) map[string]string {
	t.Helper()
	in, err := json.Marshal(map[string]any{
		"keys": keys, "url": publicURL + "/.well-known/agent-card-keys.json", "cards": cards,
		"grpc": map[string]string{"address": s.grpc, "key": s.key, "ca": s.ca},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	said := map[string]string{}
	if err := json.Unmarshal(out, &said); err != nil || len(said) != len(cards)+1 {
		t.Fatalf("%s says %s: %v", cmd, out, err)
	}
	return said
}

// startSigned starts a server with TLS and every kind of authentication.
func startSigned(t *testing.T, program, form string) *signedServer {
	t.Helper()
	dir := t.TempDir()
	pool := certificate(t, dir)
	s := &signedServer{client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}}}
	t.Cleanup(s.client.CloseIdleConnections)
	keys := filepath.Join(dir, "keys.yaml")
	s.key = strings.TrimSpace(must(t, ".", program, "keys", "add", "alice", "--role", "requester", "--tenant", "acme", "--file", keys))
	if at := strings.Index(s.key, "a2ak_"); at >= 0 {
		s.key = strings.Fields(s.key[at:])[0]
	}
	file := filepath.Join(dir, "a2a-server.yaml")
	text := fmt.Sprintf(`public_url: %q
allowed_hosts: [127.0.0.1]
agent: {name: signed, description: "Zahlt für <Müller> & Söhne, 100 €"}
card: {sign: true, security_form: %s}
grpc: {listen: "127.0.0.1:0"}
tls: {cert: %[3]s/cert.pem, key: %[3]s/key.pem, client_ca: %[3]s/cert.pem}
auth:
  keys: {file: %[3]s/keys.yaml}
  proxy: {header: X-Forwarded-User, from: [192.0.2.1], roles: [requester]}
  mtls: {subject: uri_san, tenant: acme, roles: [requester]}
  oidc:
    - {name: corp, issuer: "https://idp.invalid", audiences: [a2a], roles: [requester]}
    - {name: plain, issuer: "https://jwt.invalid", audiences: [a2a], roles: [requester], jwks: "https://jwt.invalid/keys"}
`, publicURL, form, dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.server = start(t, program, filepath.Join(dir, "data"), "--config", file)
	s.url = strings.Replace(s.url, "http://", "https://", 1)
	ca, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	s.ca = string(ca)
	if err := json.Unmarshal([]byte(s.get(t, "/.well-known/agent-card-keys.json")), &s.keys); err != nil || len(s.keys.Keys) != 1 {
		t.Fatalf("the keys are %v, %v", s.keys, err)
	}
	return s
}

// get returns the body of an answer, which has to be a good one.
func (s *signedServer) get(t *testing.T, path string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %s, %v", path, resp.Status, body, err)
	}
	return string(body)
}

// certificate writes cert.pem, of an authority for 127.0.0.1, and key.pem.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signed"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(made)
	return pool
}
