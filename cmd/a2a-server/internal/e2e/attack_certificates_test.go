package e2e_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2a-server/internal/limits"
	"a2a-server/internal/testserver"
	"a2a-server/internal/tlsfiles/tlstest"
)

// certified returns w as somebody with a certificate of ca.
func (s *secure) certified(t *testing.T, w *attacked, ca *tlstest.CA) *attacked {
	t.Helper()
	in, as := *w.instance, *w
	as.instance = &in
	pair := s.named(t, ca)
	as.client = s.as(t, pair)
	as.client.Timeout = 0
	as.grpc = s.grpcAs(t, pair)
	return &as
}

// What a certificate has opened ends soon after its authority was removed from the file,
// whether the certificate names the caller or is only required: nobody has to tell the
// server, and no heartbeat to come.
func TestAuthorityWithdrawnWhileStreaming(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"it names the caller": "auth: {mtls: {subject: uri_san, tenant: acme, roles: [requester]}}\n",
		"it is required":      "auth: {tenant: acme, default_roles: [requester], keys: {file: FOLDER/keys.yaml}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tools := prepareAttacked(t)
			stays, authorities := tlstest.NewCA(t), ""
			s := startTLS(t, "grpc: {listen: \"127.0.0.1:0\"}\npush: {enabled: true, allow_http: true, allow_loopback: true}\n"+required+config, func(s *secure, c *testserver.Config) {
				authorities = filepath.Join(filepath.Dir(s.keys), "ca.pem")
				tlstest.Write(t, authorities, bytes.Join([][]byte{s.ca.PEM, stays.PEM}, nil))
				c.DefaultTools, c.Tools = nil, tools
				c.Inside.Limits = func(l *limits.Limits) { l.Heartbeat, l.Beat = 10*time.Minute, 10*time.Millisecond }
			})
			t.Cleanup(w.release)
			w.instance = s.instance
			header := http.Header{}
			if strings.Contains(config, "keys") {
				header.Set("X-Api-Key", s.key)
			}
			var end, stay []lasts
			for _, b := range attackBindings() {
				end = append(end, s.certified(t, w, s.ca).lastingAll(t, b, "withdrawn", header)...)
				stay = append(stay, s.certified(t, w, stays).lastingAll(t, b, "kept", header)...)
			}
			tlstest.Write(t, authorities, stays.PEM)
			defer time.AfterFunc(time.Minute, w.release).Stop() // what does not end completes, and is noticed
			for _, one := range end {
				one.hasEnded(t, <-one.answer)
			}
			w.release()
			for _, one := range stay {
				one.hasAll(t)
			}
		})
	}
}
