package operation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
)

// A request may name a tenant: in a field of its message and, in HTTP+JSON, at the beginning
// of the path (§8.3.2, and the additional bindings of the proto). The name routes a request,
// and proves nothing: the principal and its tenant come from the credential alone. So a
// request may only name the caller's tenant. A request for any other tenant gets the response
// for an unknown path, whether or not that tenant has principals. A caller without a tenant,
// such as every caller on a server without authentication, can name none.

// OpenAPIPath is the path of the OpenAPI document.
const OpenAPIPath = "/openapi.json"

// TenantPrefix is the beginning of a path that names a tenant.
const TenantPrefix = "/{tenant}"

// Tenants knows the tenants that no path can name, because a path of the server begins with
// the same word or clients clean it away. Callers in such a tenant leave the prefix out, or
// name the tenant in a field.
type Tenants struct{ reserved []string }

// newTenants returns the tenants of a server with the operations of a table and a health probe.
func newTenants(table []Operation, health string) Tenants {
	all := []string{"", ".", "..", "v1" /* of A2A 0.3 */, "livez", "readyz"}
	paths := []string{card.Path, OpenAPIPath, health}
	for i := range table {
		for _, r := range table[i].Routes {
			paths = append(paths, r.Path)
		}
	}
	for _, path := range paths {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		all = append(all, first)
	}
	slices.Sort(all)
	return Tenants{slices.Compact(all)}
}

// inPath reports whether a path can name a tenant. No path
// has a slash that is escaped.
func (t Tenants) inPath(tenant string) bool {
	return !strings.Contains(tenant, "/") && !slices.Contains(t.reserved, tenant)
}

// OfPath splits the tenant from the parameters of a path that begins with a tenant, and
// refuses a tenant that is not the caller's.
func (t Tenants) OfPath(by auth.Principal, values []string) (tenant string, rest []string, err error) {
	if tenant = values[0]; !t.inPath(tenant) || tenant != by.Tenant {
		return "", nil, wire.Transport(http.StatusNotFound)
	}
	return tenant, values[1:], nil
}

// checkTenant returns an error if a request names a tenant other than the
// caller's or, unless path is empty, other than path. Every binding calls it before the
// operation reads anything, so that the error reveals nothing about stored data.
func checkTenant(caller, path string, req any) error {
	all, err := tenantsOf(req)
	if err != nil {
		return err
	}
	for _, named := range all {
		switch {
		case named == "":
		case path != "" && named != path:
			return wire.InvalidField("tenant", "is not the tenant of the path")
		case named != caller:
			return wire.Transport(http.StatusNotFound)
		}
	}
	return nil
}

// tenantsOf returns the tenants that a request names.
func tenantsOf(req any) ([]string, error) {
	switch r := req.(type) {
	case *sdk.SendMessageRequest:
		if c := r.Config; c != nil && c.PushConfig != nil {
			return []string{r.Tenant, c.PushConfig.Tenant}, nil
		}
		return []string{r.Tenant}, nil
	case interface{ GetTenant() string }:
		return []string{r.GetTenant()}, nil
	}
	return nil, fmt.Errorf("a2a: tenantsOf does not know a %T", req)
}
