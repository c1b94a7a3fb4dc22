package openapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"
	"k8s.io/client-go/openapi/openapitest"

	"a2a-server/tool"
	"a2a-server/tool/httptool"
	"a2a-server/tool/openapitoolset"
)

// A document is a document of OpenAPI that was written elsewhere.
type document struct {
	load func(*testing.T) []byte
	mock func(*testing.T, []byte) http.Handler // refuses requests that are not as the document says
	// missing are the operations that cannot be served.
	missing []string
	// called are operations that are called, ten of them.
	called []string
	// expand are values that the mock knows of Stripe's argument of that name.
	expand map[string]string
}

func documents() map[string]document {
	return map[string]document{
		"Stripe": {
			load: func(*testing.T) []byte { return embedded.OpenAPISpec },
			mock: stripe,
			// Both have servers of their own.
			missing: []string{"GetQuotesQuotePdf", "PostFiles"},
			called: []string{
				"GetCharges", "GetCustomersCustomer", "GetSubscriptions", "PostCustomers", "PostPaymentIntents",
				"PostCheckoutSessions", "PostInvoices", "PostSubscriptions", "PostRefunds", "DeleteCustomersCustomer",
			},
			expand: map[string]string{
				"GetCharges": "data.customer", "GetCustomersCustomer": "default_source", "GetSubscriptions": "data.customer", "PostCustomers": "default_source",
				"PostPaymentIntents": "customer", "PostCheckoutSessions": "customer", "PostInvoices": "customer", "PostSubscriptions": "customer", "PostRefunds": "charge",
			},
		},
		"GitHub": {
			load: github,
			mock: mock,
			// One has a body of text, the other servers of its own.
			missing: []string{"markdown/render-raw", "repos/upload-release-asset"},
			called: []string{
				"repos/get", "repos/list-commits", "issues/list-for-repo", "issues/create", "issues/update",
				"pulls/create", "pulls/merge", "search/code", "repos/create-or-update-file-contents", "actions/create-workflow-dispatch",
			},
		},
		"Kubernetes": {
			load: func(t *testing.T) []byte { return kubernetes(t, "api/v1") },
			mock: mock,
			called: []string{
				"listCoreV1NamespacedPod", "readCoreV1NamespacedPod", "createCoreV1NamespacedPod", "replaceCoreV1NamespacedPod", "patchCoreV1NamespacedPod",
				"deleteCoreV1NamespacedPod", "createCoreV1NamespacedConfigMap", "createCoreV1NamespacedSecret", "createCoreV1NamespacedPodEviction", "deleteCoreV1CollectionNamespacedPod",
			},
		},
		"pet store": {
			load: petstore,
			mock: mock,
			// Its body is a file.
			missing: []string{"uploadFile"},
			called: []string{
				"addPet", "updatePet", "findPetsByStatus", "findPetsByTags", "getPetById",
				"updatePetWithForm", "placeOrder", "getOrderById", "createUser", "createUsersWithListInput",
			},
		},
		"forms": {
			load:   func(*testing.T) []byte { return []byte(forms) },
			mock:   mock,
			called: []string{"search", "urlencoded", "multipart"},
		},
	}
}

// forms has what those of others have no example of that kin-openapi can read: they are
// here to have its reading of a form beside ours.
const forms = `{"openapi": "3.0.3", "info": {"title": "Forms", "version": "1"}, "paths": {
	"/search": {"get": {"operationId": "search", "parameters": [{"name": "filter", "in": "query", "style": "deepObject", "required": true, "schema": {"$ref": "#/components/schemas/Nested"}}], "responses": {"200": {"description": "x"}}}},
	"/urlencoded": {"post": {"operationId": "urlencoded", "requestBody": {"required": true, "content": {"application/x-www-form-urlencoded": {
		"schema": {"type": "object", "required": ["n", "tags", "nested"], "properties": {"n": {"type": "integer"}, "on": {"type": "boolean"}, "tags": {"type": "array", "minItems": 2, "items": {"type": "string"}}, "nested": {"$ref": "#/components/schemas/Nested"}}},
		"encoding": {"nested": {"style": "deepObject", "explode": true}}}}}, "responses": {"200": {"description": "x"}}}},
	"/multipart": {"post": {"operationId": "multipart", "requestBody": {"required": true, "content": {"multipart/form-data": {
		"schema": {"type": "object", "required": ["n", "tags", "nested"], "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "minItems": 2, "items": {"type": "string"}}, "nested": {"$ref": "#/components/schemas/Nested"}, "file": {"type": "string", "format": "binary"}}}}}}, "responses": {"200": {"description": "x"}}}}},
	"components": {"schemas": {"Nested": {"type": "object", "required": ["a"], "properties": {"a": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}, "c": {"type": "integer"}}}}}}`

// TestDocuments selects all operations of each document, and calls ten of them, with what
// their schemas require and with everything that they allow. It prints what loading takes.
func TestDocuments(t *testing.T) {
	t.Parallel()
	client, err := httptool.NewClient(httptool.ClientConfig{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range documents() {
		t.Run(name, func(t *testing.T) { // one after the other, for the figures
			raw := doc.load(t)
			path := filepath.Join(t.TempDir(), "openapi.json")
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			api := httptest.NewServer(doc.mock(t, raw))
			defer api.Close()
			var before, after, kept runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			set, problems, err := openapitoolset.New(openapitoolset.Config{
				Name: name, Path: path, Server: api.URL, Only: []string{"*"}, Client: client,
				Header: map[string]string{"Authorization": "Bearer sk_test_123"},
			})
			took := time.Since(start)
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			runtime.GC()
			runtime.ReadMemStats(&kept)
			tools, err := set.Tools(nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d KiB: %d tools in %s, %d MiB allocated, %d MiB kept", len(raw)>>10, len(tools), took.Round(time.Millisecond),
				(after.TotalAlloc-before.TotalAlloc)>>20, (int64(kept.HeapAlloc)-int64(before.HeapAlloc))>>20)
			var missing []string
			for _, p := range problems {
				operation, _, _ := strings.Cut(strings.TrimPrefix(p, `operation "`), `"`)
				missing = append(missing, operation)
			}
			if slices.Sort(missing); !slices.Equal(missing, doc.missing) {
				t.Errorf("not offered: %q, want %q", problems, doc.missing)
			}
			for _, operation := range doc.called {
				t.Run(operation, func(t *testing.T) { callBoth(t, tools, operation, doc.expand[operation]) })
			}
		})
	}
}

// callBoth calls the tool of an operation twice: with what it requires, and with all that it
// allows.
func callBoth(t *testing.T, tools []tool.Tool, operation, expand string) {
	t.Helper()
	i := slices.IndexFunc(tools, func(one tool.Tool) bool { return one.Name() == strings.ReplaceAll(operation, "/", "_") })
	if i < 0 {
		t.Fatal("there is no such tool")
	}
	called, ok := tool.As[tool.StreamingTool](tools[i])
	if !ok {
		t.Fatal("it cannot be called")
	}
	schema := tool.ToDefinition(called).Parameters
	for _, all := range []bool{false, true} {
		args, err := argumentsFor(schema, all, expand)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range called.CallStreaming(newCall(t), args) {
			if err != nil {
				t.Errorf("call with %v: %v", args, err)
			}
		}
	}
}

// mock returns a server that has kin-openapi compare each request with the document.
func mock(t *testing.T, raw []byte) http.Handler {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil
	for _, item := range doc.Paths.Map() {
		item.Servers = nil
		for _, o := range item.Operations() {
			o.Servers = nil
		}
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("application/merge-patch+json", openapi3filter.JSONBodyDecoder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, params, err := router.FindRoute(r)
		if err == nil {
			err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
				Request: r, Route: route, PathParams: params,
				Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
			})
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("%s %s: %v", r.Method, r.RequestURI, err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
}

// stripe returns Stripe's own mock, which reads brackets as Stripe does.
func stripe(t *testing.T, raw []byte) http.Handler {
	t.Helper()
	spec, err := server.LoadSpec(raw, "")
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		t.Fatal(err)
	}
	stub, err := server.NewStubServer(fixtures, spec, false /* strictVersionCheck */, false /* verbose */)
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(stub.HandleRequest)
}

// kubernetes returns the document of a group of the API.
func kubernetes(t *testing.T, group string) []byte {
	t.Helper()
	groups, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	one, ok := groups[group]
	if !ok {
		t.Fatalf("there is no document of %s", group)
	}
	raw, err := one.Schema("application/json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// petstore returns the document that comes with the validator of this module.
func petstore(t *testing.T) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/pb33f/libopenapi").Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "test_specs", "petstorev3.json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// github installs the package that has the document.
func github(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("github")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--prefer-offline", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "node_modules", "@octokit", "openapi", "generated", "api.github.com.json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
