package tlsfiles

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"

	"a2a-server/internal/privatefile"
)

// load reads the files, and uses them if they have changed and fit together. An error is
// returned once for each change.
func (f *Files) load() (changed bool, err error) {
	contents := map[string][]byte{}
	seen := sha256.New()
	for _, file := range []struct{ key, path string }{{"cert", f.config.Cert}, {"key", f.config.Key}, {"client_ca", f.config.ClientCA}} {
		if file.path == "" {
			continue
		}
		read := privatefile.ReadAny
		if file.key == "key" {
			read = privatefile.Read
		}
		content, readErr := read(file.path, maxFile)
		if readErr != nil && err == nil {
			err = fmt.Errorf("%s: %w", file.key, readErr)
		}
		contents[file.key] = content
		// Whatever is written to a hash, it returns no error.
		_, _ = fmt.Fprintf(seen, "%d %v\n%s", len(content), readErr, content)
	}
	sum := string(seen.Sum(nil))
	if sum == f.seen {
		return false, nil
	}
	f.seen = sum
	if err != nil {
		return false, err
	}
	c := base()
	pair, err := tls.X509KeyPair(contents["cert"], contents["key"])
	if err != nil {
		return false, fmt.Errorf("cert %s and key %s do not fit together, or are no PEM: %w", f.config.Cert, f.config.Key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	trusted := map[string]bool{}
	if f.config.ClientCA != "" {
		authorities, err := readCertificates(contents["client_ca"])
		if err != nil {
			return false, fmt.Errorf("client_ca: %s: %w", f.config.ClientCA, err)
		}
		c.ClientCAs = x509.NewCertPool()
		for _, cert := range authorities {
			c.ClientCAs.AddCert(cert)
			trusted[string(cert.Raw)] = true
		}
		c.ClientAuth = tls.VerifyClientCertIfGiven
		if f.config.RequireClient {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	if end := pair.Leaf.NotAfter; f.config.Now().After(end) {
		f.config.Log.Warn().Time("expired", end).Msg("the certificate in tls.cert has expired; clients refuse it")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.trusted
	f.current, f.trusted = c, trusted
	if !maps.Equal(before, trusted) {
		close(f.changed)
		f.changed = make(chan struct{})
	}
	return true, nil
}

// ReadAuthorities returns the certificates of a PEM file. It is an error if there is none, if
// any is invalid, or if the file has more than 4 MiB.
func ReadAuthorities(path string) ([]byte, error) {
	content, err := privatefile.ReadAny(path, maxFile)
	if err != nil {
		return nil, err
	}
	if _, err := readCertificates(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// readCertificates reads PEM certificates, at least one. An invalid certificate is an error:
// the clients of that authority would be refused without a reason.
func readCertificates(content []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		block, rest := pem.Decode(content)
		if block == nil {
			break
		}
		content = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("unexpected PEM block %.50q; write certificates only", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, errors.New("no PEM certificate found; the file must have blocks that begin with -----BEGIN CERTIFICATE-----")
	}
	return all, nil
}
