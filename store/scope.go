package store

import (
	"crypto/sha256"
	"encoding/binary"
)

// Scope limits the tasks and rows that a call may see. It is sealed: [Owner], [Tenant] and
// [System] are the only constructors. The zero Scope sees nothing, so a forgotten scope fails
// closed. Scopes are comparable.
type Scope struct {
	kind            scopeKind
	tenant, subject string
}

type scopeKind uint8

const (
	scopeNothing scopeKind = iota
	scopeOwner
	scopeTenant
	scopeSystem
)

// contextOfOwner begins the hashed text of ContextKey. No scopeKind has its value.
const contextOfOwner = 0x80

// Owner sees the tasks and rows of a subject in a tenant. Without authentication the subject
// is "anonymous". Only an Owner creates tasks.
func Owner(tenant, subject string) Scope {
	return Scope{kind: scopeOwner, tenant: tenant, subject: subject}
}

// Tenant sees the tasks and rows of all subjects of a tenant.
func Tenant(tenant string) Scope { return Scope{kind: scopeTenant, tenant: tenant} }

// System sees everything: turns, due work and recovery act as System.
func System() Scope { return Scope{kind: scopeSystem} }

// IsOwner reports whether s is an Owner.
func (s Scope) IsOwner() bool { return s.kind == scopeOwner }

// IsZero reports whether s is the scope that sees nothing.
func (s Scope) IsZero() bool { return s.kind == scopeNothing }

// TenantName returns the tenant of an Owner or Tenant.
func (s Scope) TenantName() string { return s.tenant }

// Subject returns the subject of an Owner.
func (s Scope) Subject() string { return s.subject }

// Covers reports whether s may see the tasks and rows of owner.
func (s Scope) Covers(owner Scope) bool {
	switch s.kind {
	case scopeOwner:
		return s == owner
	case scopeTenant:
		return owner.kind == scopeOwner && s.tenant == owner.tenant
	case scopeSystem:
		return true
	case scopeNothing:
	}
	return false
}

// ContextKey returns the 16 bytes that stand for a context of an Owner in the keys of
// rows. No two contexts have the same, and no Owner has it as its Key.
func (s Scope) ContextKey(contextID string) [16]byte {
	buf := make([]byte, 0, 128)
	buf = append(buf, contextOfOwner)
	for _, part := range [...]string{s.tenant, s.subject, contextID} {
		buf = binary.AppendUvarint(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}

// Key returns the 16 bytes that stand for an Owner in keys.
func (s Scope) Key() [16]byte {
	buf := make([]byte, 0, 64)
	buf = append(buf, byte(s.kind))
	buf = binary.AppendUvarint(buf, uint64(len(s.tenant)))
	buf = append(buf, s.tenant...)
	buf = append(buf, s.subject...)
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}
