// Package tlstest makes authorities and certificates for tests.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// A CA is an authority that signs certificates.
type CA struct {
	Cert *x509.Certificate
	PEM  []byte
	key  *ecdsa.PrivateKey
}

// A Pair is a certificate with its private key, in PEM.
type Pair struct{ Cert, Key []byte }

// TLS returns the pair as a server or a client presents it.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Write writes the pair to two files.
func (p Pair) Write(t testing.TB, cert, key string) {
	t.Helper()
	Write(t, cert, p.Cert)
	Write(t, key, p.Key)
}

// Write writes a file that only its owner can read.
func Write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// NewCA returns an authority that is valid from an hour ago for two days, unless changed:
// longer than its certificates.
func NewCA(t testing.TB, changes ...func(*x509.Certificate)) *CA {
	t.Helper()
	ca := &CA{}
	pair := ca.issue(t, append([]func(*x509.Certificate){func(c *x509.Certificate) {
		c.Subject.CommonName, c.NotAfter = "Authority of tests", time.Now().Add(48*time.Hour)
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	}}, changes...))
	block, _ := pem.Decode(pair.Cert)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	ca.Cert, ca.PEM = cert, pair.Cert
	return ca
}

// Pool returns a pool with the authority, for its relying parties.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	return pool
}

// Server returns a certificate for 127.0.0.1.
func (ca *CA) Server(t testing.TB, changes ...func(*x509.Certificate)) Pair {
	t.Helper()
	return ca.issue(t, append([]func(*x509.Certificate){func(c *x509.Certificate) {
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}}, changes...))
}

// Client returns a certificate for a client. It has no name unless changed.
func (ca *CA) Client(t testing.TB, changes ...func(*x509.Certificate)) Pair {
	t.Helper()
	return ca.issue(t, append([]func(*x509.Certificate){func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}}, changes...))
}

// issue signs a certificate: the first certificate of an authority with its own key.
func (ca *CA) issue(t testing.TB, changes []func(*x509.Certificate)) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	draft := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Tests"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, change := range changes {
		change(draft)
	}
	parent := ca.Cert
	if parent == nil {
		parent, ca.key = draft, key
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, parent, key.Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}
