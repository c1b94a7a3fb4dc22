package a2aserver_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/tlsfiles/tlstest"
)

// certified is who has a certificate of an authority.
type certified struct {
	*attacked
	header http.Header
}

// certified returns w as somebody with a certificate of ca.
func (s *secure) certified(t *testing.T, w *attacked, ca *tlstest.CA, header http.Header) certified {
	t.Helper()
	as := *w
	pair := s.named(t, ca)
	as.client = s.as(t, pair)
	as.client.Timeout = 0
	cert := pair.TLS(t)
	as.grpc = dialGRPC(t, s.server.GRPCAddr().String(), &tls.Config{
		RootCAs: s.ca.Pool(), MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil },
	})
	return certified{&as, header}
}

// What a certificate has opened ends soon after its authority was removed from the file,
// whether the certificate names the caller or is only required: nobody has to tell the
// server, and no heartbeat to come.
func TestAuthorityWithdrawnWhileStreaming(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"it names the caller": "auth: {mtls: {subject: uri_san, tenant: acme, roles: [requester]}}\n",
		"it is required":      "auth: {keys: {file: FOLDER/keys.yaml}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tools := prepareAttacked(t)
			gone, stays, folder := tlstest.NewCA(t), tlstest.NewCA(t), t.TempDir()
			authorities := filepath.Join(folder, "ca.pem")
			gone.Server(t).Write(t, filepath.Join(folder, "t.crt"), filepath.Join(folder, "t.key"))
			tlstest.Write(t, authorities, bytes.Join([][]byte{gone.PEM, stays.PEM}, nil))
			header := http.Header{}
			if strings.Contains(config, "keys") {
				key, err := apikey.Add(filepath.Join(folder, "keys.yaml"), apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleRequester}}, false)
				if err != nil {
					t.Fatal(err)
				}
				header.Set("X-Api-Key", key)
			}
			c, _ := configured(t, strings.ReplaceAll(`
store: memory
grpc: {listen: "127.0.0.1:0"}
tls: {cert: FOLDER/t.crt, key: FOLDER/t.key, client_ca: FOLDER/ca.pem, client_auth: required}
push: {enabled: true, allow_http: true, allow_loopback: true}
`+config, "FOLDER", folder))
			c.DefaultTools, c.Tools = nil, tools
			s := &secure{instance: start(t, c.WithLimits(func(l *a2aserver.Limits) { l.Heartbeat = 10 * time.Minute })), ca: gone}
			t.Cleanup(w.release)
			w.url, w.server = strings.Replace(s.url, "http://", "https://", 1), s.server
			var end, stay []lasts
			for _, b := range attackBindings() {
				for _, op := range attackOperations() {
					if op.name != "SendMessage" && op.name != "SendStreamingMessage" && op.name != "SubscribeToTask" {
						continue
					}
					one, other := s.certified(t, w, gone, header), s.certified(t, w, stays, header)
					end = append(end, lasts{b.name, op.name, one.lasting(t, b, one.header, op)})
					stay = append(stay, lasts{b.name, op.name, other.lasting(t, b, other.header, op)})
				}
			}
			tlstest.Write(t, authorities, stays.PEM)
			defer time.AfterFunc(time.Minute, w.release).Stop() // what does not end completes, and is noticed
			for _, one := range end {
				if text := <-one.answer; completed(text) || !strings.Contains(text, "the credential has ended") {
					t.Errorf("%s, %s: %s", one.who, one.operation, text)
				}
			}
			w.release()
			for _, one := range stay {
				if text := <-one.answer; !completed(text) || !strings.Contains(text, victims) {
					t.Errorf("%s, %s with a certificate that still counts: %s", one.who, one.operation, text)
				}
			}
		})
	}
}
